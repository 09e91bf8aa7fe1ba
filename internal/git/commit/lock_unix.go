//go:build unix

package commit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// lockFile locks a file. The kernel releases the lock when the process ends for any reason. The
// file gets the mode regardless of the umask.
func lockFile(root *os.Root, name string, mode fs.FileMode) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|os.O_CREATE|os.O_EXCL, mode)
	if err == nil {
		err = f.Chmod(mode)
	} else if errors.Is(err, fs.ErrExist) {
		f, err = root.Open(name)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the clone: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrBusy
		}
		return nil, fmt.Errorf("lock the clone: %w", err)
	}
	return f, nil
}

// unlock releases the lock immediately, even if a child process still has the file open.
func unlock(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

// apart protects a process from the signals of the terminal: an interrupted run still needs its
// output to finish.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
