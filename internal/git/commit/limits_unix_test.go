//go:build unix

package commit_test

import (
	"os/signal"
	"syscall"
)

// limit applies the limits of an order to this process.
func limit(o order) error {
	if o.FileSize == 0 {
		return nil
	}
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: o.FileSize, Max: o.FileSize})
}
