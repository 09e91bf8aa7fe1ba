package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/polex-dev/polex/internal/usage"
)

// maxSecret is the maximum size of a key, a token or another small file, in bytes.
const maxSecret = 1 << 20

// ReadFile reads a small file.
func ReadFile(path string) ([]byte, error) { return ReadFileUpTo(path, maxSecret) }

// ReadFileUpTo reads a file of at most limit bytes.
func ReadFileUpTo(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path) // #nosec G304 -- the user names the file
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	return readUpTo(f, path, limit)
}

// WriteFile replaces a file through a temporary file in the same folder. A reader sees either the
// old or the new content. It writes directly to a device or a pipe, such as /dev/null.
func WriteFile(path string, content []byte) error {
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return fmt.Errorf("write %s: it is a folder: name a file", path)
	case err == nil && !info.Mode().IsRegular():
		return os.WriteFile(path, content, 0)
	}
	folder := filepath.Dir(path)
	f, err := os.CreateTemp(folder, "."+filepath.Base(path)+".*.tmp")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write %s: the folder %s does not exist", path, folder)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // after a rename there is none
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// ReadInput reads a file of at most limit bytes, or standard input for "-".
func ReadInput(path string, stdin io.Reader, limit int64) ([]byte, error) {
	if path == "-" {
		return readUpTo(stdin, "standard input", limit)
	}
	return ReadFileUpTo(path, limit)
}

func readUpTo(r io.Reader, name string, limit int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) > limit {
		return nil, fmt.Errorf("%s is larger than %d KiB", name, limit>>10)
	}
	return raw, nil
}

// maxAuditReport is the maximum size of a report of polex-audit in bytes.
const maxAuditReport = 256 << 20

// ReadUnused reads the reports of --unused.
func ReadUnused(paths []string, now time.Time) (*usage.Audit, error) {
	audit := &usage.Audit{}
	for _, path := range paths {
		raw, err := ReadFileUpTo(path, maxAuditReport)
		if err != nil {
			return nil, fmt.Errorf("--unused: %w", err)
		}
		if err := audit.Add(raw, now); err != nil {
			return nil, Hint(fmt.Errorf("--unused %s: %w", path, err),
				"polex-audit --kubeconfig FILE -o json writes it")
		}
	}
	return audit, nil
}
