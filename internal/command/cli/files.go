package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// maxSecret is the most bytes of a key, a token or another small file.
const maxSecret = 1 << 20

// ReadFile reads a small file that the user names.
func ReadFile(path string) ([]byte, error) { return readBounded(path, maxSecret) }

// ReadFileUpTo reads a file of at most limit bytes.
func ReadFileUpTo(path string, limit int64) ([]byte, error) { return readBounded(path, limit) }

// WriteFile writes a file through a temporary one beside it, so that a reader
// sees the old content or the new one, and never a part. A device or a pipe, such as
// /dev/null, is written to and not replaced.
func WriteFile(path string, content []byte) error {
	if info, err := os.Stat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return os.WriteFile(path, content, 0)
	}
	return write(path, content, os.Rename)
}

// CreateFile is [WriteFile] for a file that is not there: one that is stays as it is, and
// is an error.
func CreateFile(path string, content []byte) error { return write(path, content, os.Link) }

func write(path string, content []byte, put func(from, to string) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // after a rename there is none
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = put(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
