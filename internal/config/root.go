package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// LoadRepository reads the configuration at path. If path is empty, it reads the configuration of
// the repository that contains the working directory. Commands that check a repository must not use
// it for the rules of that repository.
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

// find returns the .polex.yaml at the root of the Git repository that contains dir, or "" if there
// is none. It ignores files elsewhere, because anybody could have written them.
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

// PathIn returns a path relative to the root of a repository, with slashes, or false if the path is
// outside. Only its last element may be a link.
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

// RepositoryRoot returns the root of the Git repository that contains dir, or "" if there is none.
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
