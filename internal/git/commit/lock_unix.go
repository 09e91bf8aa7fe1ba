//go:build unix

package commit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// lockFile takes a lock that the kernel frees when its holder ends, however it
// ends. The file gets the mode, whatever the umask is.
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

// unlock frees the lock now, also for a process that was just started and still
// holds what this one has open.
func unlock(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

// apart keeps a process from the signals of the terminal: a run that is interrupted reads what
// it needs to end what it has begun.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
