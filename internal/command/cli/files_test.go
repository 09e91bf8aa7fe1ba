package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/polex-dev/polex/internal/command/cli"
)

// TestWriteToDevice: WriteFile writes to a device and does not replace it.
func TestWriteToDevice(t *testing.T) {
	link := filepath.Join(t.TempDir(), "null")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Skip(err)
	}
	if err := cli.WriteFile(link, []byte("a")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("it was replaced: %v, %v", info, err)
	}
}
