//go:build !unix

package commit

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

func lockFile(*os.Root, string, fs.FileMode) (*os.File, error) {
	return nil, errors.New("lock the clone: this system has no locks that end with their holder")
}

func unlock(f *os.File) error { return f.Close() }

func apart() *syscall.SysProcAttr { return nil }
