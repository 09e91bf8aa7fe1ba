package deliver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// WriteFolder writes files into a new folder for another job. The folder must not exist yet. It is created
// completely or not at all.
func WriteFolder(dir string, files map[string][]byte) (err error) {
	temporary, err := beside(dir)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write signed files: %w", errors.Join(err, os.RemoveAll(temporary)))
		}
	}()
	for name, content := range files {
		to := filepath.Join(temporary, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, content, 0o644); err != nil {
			return err
		}
	}
	if err := os.Chmod(temporary, 0o755); err != nil { // #nosec G302 -- another job reads it
		return err
	}
	return os.Rename(temporary, dir)
}

// beside creates the temporary folder that is renamed to dir when it is complete.
func beside(dir string) (string, error) {
	if _, err := os.Lstat(dir); err == nil {
		return "", fmt.Errorf("write signed files: %q exists already: remove it, or name another folder with "+
			"--signed-output", dir)
	}
	temporary, err := os.MkdirTemp(filepath.Dir(filepath.Clean(dir)), ".polex-signed-*")
	if err != nil {
		return "", fmt.Errorf("write signed files: %w", err)
	}
	return temporary, nil
}
