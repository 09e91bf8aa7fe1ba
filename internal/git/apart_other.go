//go:build !unix

package git

import "syscall"

func apart() *syscall.SysProcAttr { return nil }
