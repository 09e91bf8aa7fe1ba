//go:build !unix

package commit

import "syscall"

func apart() *syscall.SysProcAttr { return nil }
