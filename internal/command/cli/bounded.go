package cli

import (
	"fmt"
	"io"
	"os"
)

// readBounded reads a whole file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path) // #nosec G304 -- the user names the file
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	return readUpTo(f, path, limit)
}

// ReadInput reads a file of at most limit bytes, or standard input for "-".
func ReadInput(path string, stdin io.Reader, limit int64) ([]byte, error) {
	if path == "-" {
		return readUpTo(stdin, "standard input", limit)
	}
	return readBounded(path, limit)
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
