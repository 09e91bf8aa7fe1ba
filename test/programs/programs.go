// Package programs builds the commands for the tests that run them, with the flags of a release.
package programs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Build returns the folder with all commands. root is the repository. The test packages share the folder, in bin/: Go
// links only commands with changed code, and one process builds at a time.
func Build(root string) (dir string, err error) {
	dir, err = filepath.Abs(filepath.Join(root, "bin", "test"))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600) // #nosec G304 -- in bin/
	if err != nil {
		return "", err
	}
	defer lock.Close() //nolint:errcheck // its end releases the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	build := exec.Command("go", "build", "-tags=grpcnotrace", "-trimpath", "-ldflags=-s -w",
		"-o", dir+string(filepath.Separator), "./cmd/...") // #nosec G204 -- a folder
	build.Dir = root
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the commands: %w\n%s", err, out)
	}
	return dir, nil
}
