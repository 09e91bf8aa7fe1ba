package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/test/must"
)

// TestWriteToDevice: WriteFile writes to a device and does not replace it.
func TestWriteToDevice(t *testing.T) {
	link := filepath.Join(t.TempDir(), "null")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Skip(err)
	}
	must.Do(t, cli.WriteFile(link, []byte("a")))
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("it was replaced: %v, %v", info, err)
	}
}
