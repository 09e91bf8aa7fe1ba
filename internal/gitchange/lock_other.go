//go:build !unix

package gitchange

import (
	"errors"
	"os"
)

func lockFile(*os.Root, string) (*os.File, error) {
	return nil, errors.New("lock the clone: this system has no locks that end with their holder")
}

func unlock(f *os.File) error { return f.Close() }
