// Package changed finds the files that a pull request changes: the differences between the work
// tree and the merge base of HEAD and another commit.
package changed

import (
	"context"
	"crypto/sha1" // #nosec G505 -- Git's object names, for comparison only
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/git"
)

// Since is the commit that files are compared with.
type Since struct {
	root    string          // of the work tree, without symbolic links
	entries map[string]File // by path from the root, with slashes
}

// Open finds the repository of dir and the newest common commit of HEAD and ref. ref is any name of
// a commit in Git. It returns an error if a shallow clone lacks that commit.
func Open(ctx context.Context, dir, ref string) (*Since, error) {
	root, err := in(dir).Run(ctx, git.Call{}, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, cli.Hint(fmt.Errorf("--changed-since requires a Git repository: %w", err),
			"run it in a clone, or leave --changed-since out")
	}
	const fetch = "fetch the branch and its history; in GitHub Actions, check out with fetch-depth: 0"
	root = strings.TrimSuffix(root, "\n")
	tip, err := in(root).Run(ctx, git.Call{}, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err != nil {
		return nil, cli.Hint(fmt.Errorf("--changed-since: there is no branch, tag or commit %q here", ref), fetch)
	}
	common, err := in(root).Run(ctx, git.Call{}, "merge-base", "HEAD", strings.TrimSpace(tip))
	if err != nil {
		return nil, cli.Hint(fmt.Errorf("--changed-since: HEAD and %s have no commit in common here; is the clone "+
			"shallow?", ref), fetch)
	}
	listing, err := in(root).Run(ctx, git.Call{}, "ls-tree", "-r", "-z", "--full-tree", strings.TrimSpace(common))
	if err != nil {
		return nil, err
	}
	s := &Since{entries: map[string]File{}}
	for _, f := range parse(listing, 2) { // mode SP type SP hash TAB path
		s.entries[f.Path] = f
	}
	s.root, err = filepath.EvalSymlinks(root)
	return s, err
}

// in returns the caller's clone that contains a folder.
func in(dir string) git.Git { return git.Git{Dir: dir, Own: true} }

// Changed reports whether a file is new or has other content than in the commit. A file outside the
// work tree and a file that is not regular are always new.
func (s *Since) Changed(path string) (bool, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return false, err
	}
	// Resolve only the folder: the file itself may be a symbolic link.
	folder, err := filepath.EvalSymlinks(filepath.Dir(absolute))
	if err != nil {
		return false, err
	}
	name, err := filepath.Rel(s.root, filepath.Join(folder, filepath.Base(absolute)))
	if err != nil || !filepath.IsLocal(name) {
		return true, nil //nolint:nilerr // not below the root
	}
	entry, there := s.entries[filepath.ToSlash(name)]
	then := entry.hash
	if !there {
		return true, nil
	}
	info, err := os.Lstat(absolute)
	if err != nil || !info.Mode().IsRegular() {
		return true, err
	}
	now, err := blobName(absolute, info.Size(), len(then))
	return now != then, err
}

// Touched reports whether a file at or below a path was added, removed or changed. A path with a
// symbolic link counts as touched.
func (s *Since) Touched(path string) (bool, error) {
	absolute := filepath.Clean(path)
	if !filepath.IsAbs(path) {
		folder, err := filepath.Abs(".")
		if err == nil {
			folder, err = filepath.EvalSymlinks(folder)
		}
		if err != nil {
			return true, err
		}
		absolute = filepath.Join(folder, path)
	}
	if target, err := filepath.EvalSymlinks(absolute); err != nil || target != absolute {
		return true, nil //nolint:nilerr // the reader reports an unreadable file
	}
	name, err := filepath.Rel(s.root, absolute)
	if err != nil || !filepath.IsLocal(name) {
		return false, nil //nolint:nilerr // not below the root: it is of no branch that is checked out here
	}
	there, touched := 0, false
	err = filepath.WalkDir(absolute, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		there++
		changed, err := s.Changed(file)
		touched = touched || changed
		return err
	})
	for file := range s.entries {
		if name = filepath.ToSlash(name); name == "." || file == name || strings.HasPrefix(file, name+"/") {
			there--
		}
	}
	return touched || there != 0, err
}

// blobName returns the Git object name of a file: the hash of "blob", its size and its content, in
// the hash algorithm of the repository.
func blobName(path string, size int64, length int) (string, error) {
	f, err := os.Open(path) // #nosec G304 -- the user names the file
	if err != nil {
		return "", err
	}
	defer f.Close()      //nolint:errcheck // only read
	hasher := sha1.New() // #nosec G401 -- as above
	if length == hex.EncodedLen(sha256.Size) {
		hasher = sha256.New()
	}
	_, _ = fmt.Fprintf(hasher, "blob %d\x00", size) // a hash takes everything
	if _, err = io.CopyN(hasher, f, size); errors.Is(err, io.EOF) {
		err = errors.New("the file became shorter while it was read")
	}
	return hex.EncodeToString(hasher.Sum(nil)), err
}
