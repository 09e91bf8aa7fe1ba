package changed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// open finds the repository above dir. go-git's own opening would bring every
// transport with it, which doubles a small binary.
func open(dir string) (root string, storage *filesystem.Storage, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", nil, err
	}
	for root = dir; ; root = filepath.Dir(root) {
		info, err := os.Lstat(filepath.Join(root, ".git"))
		switch {
		case err == nil:
			storage, err := storageOf(filepath.Join(root, ".git"), info.IsDir())
			return root, storage, err
		case !errors.Is(err, fs.ErrNotExist):
			return "", nil, err
		case filepath.Dir(root) == root:
			return "", nil, fmt.Errorf("%s lies in no Git repository", dir)
		}
	}
}

// storageOf opens a .git folder, or the one that a linked work tree's .git file
// names.
func storageOf(dotGit string, isFolder bool) (*filesystem.Storage, error) {
	folder, err := dotGit, error(nil)
	if !isFolder {
		if folder, err = pointer(dotGit, "gitdir: "); err != nil {
			return nil, err
		}
	}
	own, common := osfs.New(folder, osfs.WithBoundOS()), folder
	if pointed, err := pointer(filepath.Join(folder, "commondir"), ""); err == nil {
		common = pointed
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	files := dotgit.NewRepositoryFilesystem(own, osfs.New(common, osfs.WithBoundOS()))
	return filesystem.NewStorage(files, cache.NewObjectLRUDefault()), nil
}

// pointer reads a file that holds the path of a folder.
func pointer(file, prefix string) (string, error) {
	raw, err := os.ReadFile(file) // #nosec G304 -- of the user's own repository
	if err != nil {
		return "", err
	}
	path, found := strings.CutPrefix(strings.TrimSpace(string(raw)), prefix)
	if !found {
		return "", fmt.Errorf("%s names no folder", file)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file), path)
	}
	return path, nil
}
