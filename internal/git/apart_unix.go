//go:build unix

package git

import "syscall"

// apart protects a process from the signals of the terminal: an interrupted run still needs its
// output to finish.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
