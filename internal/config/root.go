package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// LoadRepository reads the configuration at path or, when the path is
// empty, the one of the repository that the working directory lies in. It is for
// commands that do not judge what the repository holds.
func LoadRepository(path string) (*Config, error) {
	if path == "" {
		found, err := find(".")
		if err != nil {
			return nil, err
		}
		path = found
	}
	return Load(path)
}

// find returns the .polex.yaml at the root of the Git repository that dir
// lies in, or "" when there is none. A file that lies anywhere else is never
// taken up on its own account: it might be anybody's.
func find(dir string) (string, error) {
	root, err := RepositoryRoot(dir)
	if err != nil || root == "" {
		return "", err
	}
	path := filepath.Join(root, Name)
	if there, err := exists(path); err != nil || !there {
		return "", err
	}
	return path, nil
}

// PathIn returns a path as it is from the root of a repository, with slashes, or false
// where it does not lie in there. Only its last part may be a link.
func PathIn(root, path string) (string, bool) {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", false
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", false
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(absolute))
	if err != nil {
		return "", false
	}
	name, err := filepath.Rel(root, filepath.Join(folder, filepath.Base(absolute)))
	return filepath.ToSlash(name), err == nil && (name == "." || filepath.IsLocal(name))
}

// RepositoryRoot returns the root of the Git repository that dir lies in, or "" when
// it lies in none.
func RepositoryRoot(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for {
		isRoot, err := exists(filepath.Join(dir, ".git"))
		if err != nil {
			return "", fmt.Errorf("find the repository: %w", err)
		}
		if isRoot {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", nil
		}
		dir = parent
	}
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
