package changed

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/polex-dev/polex/internal/git"
)

// File is an entry of a folder that is not a folder itself.
type File struct {
	Path string // relative to the root of the work tree, with slashes
	Mode uint32 // in Git's notation, such as 0o100644

	hash string // hash of the staged content, "" for an untracked file
}

// List returns the files below the folders that a commit of all changes would contain. It includes
// untracked files and leaves out ignored ones. root is the root of the work tree.
func List(ctx context.Context, root string, folders ...string) ([]File, error) {
	staged, err := in(root).Run(ctx, git.Call{}, append([]string{"ls-files", "--stage", "-z", "--"}, folders...)...)
	if err != nil {
		return nil, err
	}
	others, err := in(root).Run(ctx, git.Call{},
		append([]string{"ls-files", "--others", "--exclude-standard", "-z", "--"}, folders...)...)
	if err != nil {
		return nil, err
	}
	var files []File
	met := map[string]bool{}
	for _, f := range parse(staged, 1) { // mode SP hash SP stage TAB path
		if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(f.Path))); met[f.Path] ||
			errors.Is(err, fs.ErrNotExist) {
			continue // in a merge conflict, Git lists a path several times
		}
		met[f.Path] = true
		files = append(files, f)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(others, "\x00"), "\x00") {
		if name == "" {
			continue
		}
		// Git would add a nested repository as a submodule.
		f := File{Path: strings.TrimSuffix(name, "/"), Mode: 0o160000}
		if f.Path == name {
			info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name)))
			if err != nil {
				return nil, err
			}
			f.Mode = modeOf(info.Mode())
		}
		files = append(files, f)
	}
	return files, nil
}

func modeOf(m fs.FileMode) uint32 {
	switch {
	case m.Type() == fs.ModeSymlink:
		return 0o120000
	case m&0o100 != 0:
		return 0o100755
	default:
		return 0o100644
	}
}

// parse reads the output of ls-tree or ls-files. The first field of an entry is its mode, and hash
// is the index of the field with the hash.
func parse(listing string, hash int) []File {
	var files []File
	for entry := range strings.SplitSeq(listing, "\x00") {
		meta, path, found := strings.Cut(entry, "\t")
		fields := strings.Fields(meta)
		if !found || len(fields) != 3 {
			continue
		}
		if mode, err := strconv.ParseUint(fields[0], 8, 32); err == nil {
			files = append(files, File{Path: path, Mode: uint32(mode), hash: fields[hash]})
		}
	}
	return files
}

// Differs reports whether a file from [List] is new, or has another mode or content than in the
// commit. With a nil Since, every file differs.
func (s *Since) Differs(f File) (bool, error) {
	if s == nil {
		return true, nil
	}
	then, there := s.entries[f.Path]
	if !there || then.Mode != f.Mode || then.hash != f.hash {
		return true, nil
	}
	if f.Mode != 0o100644 && f.Mode != 0o100755 {
		return false, nil
	}
	return s.Changed(filepath.Join(s.root, filepath.FromSlash(f.Path)))
}
