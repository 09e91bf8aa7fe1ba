package git

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// Change is a path that differs between two trees. An entry has a zero hash if its tree does not
// contain the path.
type Change struct {
	Path     string
	Old, New Entry
}

// Differences calls visit for each entry below a path that differs between two trees, except
// folders. It stops at the first error. A nil tree is empty. It does not read equal folders, so the
// time depends on the number of differences.
func Differences(old, changed *Tree, name string, visit func(Change) error) error {
	return (&differing{visit: visit}).trees(old, changed, name)
}

// DifferencesAt is [Differences] for the paths of files: it reads only the folders that contain
// them. It also calls visit for other differences in these folders.
func DifferencesAt(old, changed *Tree, paths []string, visit func(Change) error) error {
	return (&differing{visit: visit, into: foldersOf(paths)}).trees(old, changed, ".")
}

// foldersOf returns all parent folders of paths, up to the root.
func foldersOf(paths []string) map[string]bool {
	folders := map[string]bool{}
	for _, name := range paths {
		for dir := path.Dir(name); !folders[dir]; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	return folders
}

type differing struct {
	objects *Repository
	into    map[string]bool // the folders to read; nil means all
	visit   func(Change) error
	met     int
}

func (d *differing) trees(old, changed *Tree, name string) (err error) {
	sides := [2]Entry{}
	for i, tree := range []*Tree{old, changed} {
		if tree == nil {
			continue
		}
		d.objects = tree.objects
		if sides[i], err = tree.Find(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return d.entries(name, sides[0], sides[1])
}

func (d *differing) entries(name string, old, changed Entry) error {
	if old.hash == changed.hash && old.Mode == changed.Mode {
		return nil
	}
	if d.met++; d.met > MaxEntries {
		return fmt.Errorf("%q: more than %d files and folders differ", name, MaxEntries)
	}
	if len(name) > maxPath { // which also limits the levels of folders
		return fmt.Errorf("%q: its path has more than %d bytes", name, maxPath)
	}
	oldFolder, newFolder := old.Mode == Dir, changed.Mode == Dir
	if (oldFolder || newFolder) && (d.into == nil || d.into[name]) {
		if err := d.folders(name, old, changed); err != nil {
			return err
		}
	}
	if oldFolder {
		old = Entry{}
	}
	if newFolder {
		changed = Entry{}
	}
	if old.hash.IsZero() && changed.hash.IsZero() {
		return nil
	}
	return d.visit(Change{Path: name, Old: old, New: changed})
}

// folders compares the entries of two folders. One of them may be absent.
func (d *differing) folders(name string, old, changed Entry) error {
	a, err := d.scan(old)
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	b, err := d.scan(changed)
	for err == nil && (a.entry != nil || b.entry != nil) {
		order := a.compare(b)
		if !bytes.Equal(a.entry, b.entry) {
			var before, after Entry
			if order <= 0 {
				before = a.at(name)
			}
			if order >= 0 {
				after = b.at(name)
			}
			if err := d.entries(cmp.Or(before.Path, after.Path), before, after); err != nil {
				return err
			}
		}
		if order <= 0 {
			err = a.next()
		}
		if order >= 0 && err == nil {
			err = b.next()
		}
	}
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	return nil
}

// scan starts to read a folder. For an absent entry or a file it is empty.
func (d *differing) scan(e Entry) (*scan, error) {
	s := &scan{}
	if e.Mode != Dir {
		return s, nil
	}
	var err error
	if s.rest, err = d.objects.tree(e.hash); err != nil {
		return nil, err
	}
	return s, s.next()
}

// scan reads the entries of a tree one by one without allocating, because histories compare large
// folders thousands of times. Git sorts entries by name, with a "/" after the names of folders. The
// order allows a comparison of two trees in one pass and exposes duplicate names. A tree in another
// order is an error, as in git fsck.
type scan struct {
	rest []byte

	entry []byte // nil at the end
	name  []byte
	mode  Mode
	// within are the files with names that are prefixes of the present name. A folder with the same
	// name as one of them may follow.
	within [][]byte
}

// at returns the present entry, with its path below the folder.
func (s *scan) at(folder string) Entry {
	hash := Hash(s.entry[len(s.entry)-len(Hash{}):])
	return Entry{Path: path.Join(folder, string(s.name)), Mode: s.mode, hash: hash}
}

func (s *scan) next() error {
	last, lastMode := s.name, s.mode
	first := s.entry == nil
	if len(s.rest) == 0 {
		s.entry, s.name = nil, nil
		return nil
	}
	end := bytes.IndexByte(s.rest, 0)
	space := bytes.IndexByte(s.rest, ' ')
	if end < 0 || space < 0 || space > end || len(s.rest) < end+1+len(Hash{}) {
		return errors.New("the tree is truncated")
	}
	mode, err := ParseMode(string(s.rest[:space]))
	if err != nil {
		return fmt.Errorf("the tree has an entry of the mode %q", s.rest[:space])
	}
	size := end + 1 + len(Hash{})
	s.entry, s.name, s.mode, s.rest = s.rest[:size], s.rest[space+1:end], mode, s.rest[size:]
	if !plainName(s.name) {
		return fmt.Errorf("the tree has an entry called %q, which is not a valid file name", s.name)
	}
	if !first && compareNames(last, lastMode, s.name, s.mode) >= 0 {
		if bytes.Equal(last, s.name) {
			return fmt.Errorf("the tree has two entries called %q", s.name)
		}
		return fmt.Errorf("the tree is not sorted at %q: run git fsck", s.name)
	}
	for len(s.within) > 0 && !bytes.HasPrefix(s.name, s.within[len(s.within)-1]) {
		s.within = s.within[:len(s.within)-1]
	}
	if s.mode != Dir {
		s.within = append(s.within, s.name)
		return nil
	}
	if n := len(s.within); n > 0 && bytes.Equal(s.within[n-1], s.name) {
		return fmt.Errorf("the tree has two entries called %q", s.name)
	}
	return nil
}

func (s *scan) compare(other *scan) int {
	switch {
	case s.entry == nil:
		return 1
	case other.entry == nil:
		return -1
	}
	return compareNames(s.name, s.mode, other.name, other.mode)
}

// compareNames orders entries as Git does: the name of a folder ends in "/".
func compareNames(a []byte, aMode Mode, b []byte, bMode Mode) int {
	n := min(len(a), len(b))
	if order := bytes.Compare(a[:n], b[:n]); order != 0 {
		return order
	}
	return int(behind(a, n, aMode)) - int(behind(b, n, bMode))
}

func behind(name []byte, n int, mode Mode) byte {
	switch {
	case n < len(name):
		return name[n]
	case mode == Dir:
		return '/'
	default:
		return 0
	}
}
