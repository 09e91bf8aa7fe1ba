package trust

import (
	"fmt"
	"io"
	"os"
)

const maxFile = 4 << 20 // bytes of a trusted root or a key

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path) // #nosec G304 -- the policy, which is trusted, names it
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", path, maxFile>>20)
	}
	return raw, nil
}
