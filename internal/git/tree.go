package git

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Tree is the content of a commit. It is not safe for concurrent use.
type Tree struct {
	commit  Hash
	root    Hash
	objects *Repository
	met     int // entries of all walks together
}

// Entry is a file, folder, link or submodule of a tree. Its mode and path are untrusted: the author
// of the commit chooses them.
type Entry struct {
	Path string // from the root, with slashes
	Mode Mode

	hash Hash
}

// NewEntry returns an entry from another source than a tree, such as the index.
func NewEntry(path string, mode Mode, hash Hash) Entry {
	return Entry{Path: path, Mode: mode, hash: hash}
}

// Hash returns the hash of the entry's object.
func (e Entry) Hash() Hash { return e.hash }

// Absent reports whether the entry does not exist.
func (e Entry) Absent() bool { return e.hash.IsZero() }

// IsFile reports whether the entry is a regular file, executable or not.
func (e Entry) IsFile() bool { return e.Mode == Regular || e.Mode == Executable }

// Tree returns the content of a commit.
func (r *Repository) Tree(commit Hash) (*Tree, error) {
	r.left = budget{bytes: maxRead, time: maxWait, bounded: true}
	c, err := r.Commit(commit)
	if err != nil {
		return nil, err
	}
	return r.TreeOf(c), nil
}

// Commit returns the hash of the commit.
func (t *Tree) Commit() string { return t.commit.String() }

// Find returns the entry at a path from the root, with slashes; "." is the root. It follows no
// links. A missing entry is [fs.ErrNotExist].
func (t *Tree) Find(name string) (Entry, error) {
	at := Entry{Path: ".", Mode: Dir, hash: t.root}
	if name == "." {
		return at, nil
	}
	// Names in a tree are bytes and can be invalid UTF-8.
	if !fs.ValidPath(strings.ToValidUTF8(name, "?")) || strings.Count(name, "/") >= MaxDepth {
		return Entry{}, fmt.Errorf("find %q: it is outside of the repository", name)
	}
	for part := range strings.SplitSeq(name, "/") {
		var found Entry
		there := false
		if err := t.each(at, func(s *scan) {
			if string(s.name) == part {
				found, there = s.at(at.Path), true
			}
		}); err != nil {
			return Entry{}, err
		}
		if !there {
			return Entry{}, fmt.Errorf("find %q: %w", name, fs.ErrNotExist)
		}
		at = found
	}
	return at, nil
}

// At is [Tree.Find] for a file that may be missing: it then returns an [Entry] without a hash.
func (t *Tree) At(name string) (Entry, error) {
	e, err := t.Find(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoFolder) {
		return Entry{}, nil
	}
	return e, err
}

var errNoFolder = errors.New("it is not a folder")

// Walk calls visit for the entry at a path, or for all entries below a folder except folders,
// sorted by name. It stops at the first error. More than [MaxEntries] entries or [MaxDepth] levels
// are an error before the first visit.
func (t *Tree) Walk(name string, visit func(Entry) error) error { return t.walk(name, false, visit) }

// WalkFolder is [Tree.Walk] for a folder that may not exist. It visits a folder below [MaxDepth] levels
// itself, and not its entries: the caller reports it and goes on with the others.
func (t *Tree) WalkFolder(name string, visit func(Entry) error) error {
	switch folder, err := t.Find(name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case folder.Mode != Dir:
		return fmt.Errorf("%s is not a folder", name)
	}
	return t.walk(name, true, visit)
}

// walk goes through the tree twice: 40 trees that each contain the next one twice are a million million
// folders, so the first pass only counts. cut means that a folder that is too deep is visited.
func (t *Tree) walk(name string, cut bool, visit func(Entry) error) error {
	start, err := t.Find(name)
	if err != nil {
		return err
	}
	nothing := func(Entry) error { return nil }
	if err := t.below(start, 0, cut, nothing, func(Entry) error {
		if t.met++; t.met > MaxEntries {
			return fmt.Errorf("%q: there are more than %d files and folders", start.Path, MaxEntries)
		}
		return nil
	}); err != nil {
		return err
	}
	return t.below(start, 0, cut, visit, nothing)
}

// below calls visit for the files at or below an entry, and every for all entries below it.
func (t *Tree) below(at Entry, depth int, cut bool, visit, every func(Entry) error) error {
	switch {
	case at.Mode != Dir, cut && depth > MaxDepth:
		return visit(at)
	case depth > MaxDepth:
		return fmt.Errorf("%q: there are more than %d levels of folders", at.Path, MaxDepth)
	}
	entries, err := t.entries(at)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := every(e); err != nil {
			return err
		}
		if err := t.below(e, depth+1, cut, visit, every); err != nil {
			return err
		}
	}
	return nil
}

// entries returns the entries of a folder, sorted by name.
func (t *Tree) entries(folder Entry) ([]Entry, error) {
	var entries []Entry
	err := t.each(folder, func(s *scan) { entries = append(entries, s.at(folder.Path)) })
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return entries, err
}

// each calls visit for each entry of a folder, in Git's order.
func (t *Tree) each(folder Entry, visit func(*scan)) error {
	if folder.Mode != Dir {
		return fmt.Errorf("%q: %w", folder.Path, errNoFolder)
	}
	content, err := t.objects.tree(folder.hash)
	if err != nil {
		return fmt.Errorf("%q: %w", folder.Path, err)
	}
	s := scan{rest: content}
	for met := 0; ; met++ {
		if err := s.next(); err != nil {
			return fmt.Errorf("%q: %w", folder.Path, err)
		}
		switch {
		case s.entry == nil:
			return nil
		case met == MaxEntries:
			return fmt.Errorf("%q: the tree has more than %d entries", folder.Path, MaxEntries)
		case len(folder.Path)+1+len(s.name) > maxPath:
			return fmt.Errorf("%q: a path of more than %d bytes", folder.Path, maxPath)
		}
		visit(&s)
	}
}

// Read returns the content of a regular file. A file of more than [MaxFile] bytes is [ErrTooLarge].
func (t *Tree) Read(file Entry) ([]byte, error) {
	if !file.IsFile() {
		return nil, fmt.Errorf("read %q: it is not a regular file", file.Path)
	}
	content, err := t.objects.read(KindBlob, file.hash, MaxFile)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", file.Path, err)
	}
	return content, nil
}

// ReadFile returns the content of a regular file of a commit, as [Tree.Find] and [Tree.Read].
func (r *Repository) ReadFile(commit Hash, name string) ([]byte, error) {
	tree, err := r.Tree(commit)
	if err != nil {
		return nil, err
	}
	file, err := tree.Find(name)
	if err != nil {
		return nil, err
	}
	return tree.Read(file)
}

// Follow returns the target of a link within the tree. A link to a link, or through a link, is an
// error.
func (t *Tree) Follow(link Entry) (Entry, error) {
	if link.Mode != Symlink {
		return Entry{}, fmt.Errorf("follow %q: it is not a link", link.Path)
	}
	target, err := t.objects.read(KindBlob, link.hash, maxLink)
	if err != nil {
		return Entry{}, fmt.Errorf("follow %q: %w", link.Path, err)
	}
	if path.IsAbs(string(target)) {
		return Entry{}, fmt.Errorf("follow %q: it points outside the repository", link.Path)
	}
	at, err := t.Find(path.Join(path.Dir(link.Path), string(target)))
	if err != nil {
		return Entry{}, fmt.Errorf("follow %q: %w", link.Path, err)
	}
	if at.Mode == Symlink {
		return Entry{}, errors.New("follow " + link.Path + ": it points to another link")
	}
	return at, nil
}

// Documents calls visit for every entry at or below a path that may contain documents: the entry
// with that path, and entries with a name for which holds returns true. problem explains why an
// entry cannot be read, as a text after "it", or is empty. Links to files are skipped if holds
// returns false for their name, since deployers ignore such files. A link to anything else, a
// submodule and an unknown mode could hide documents.
func (t *Tree) Documents(name string, holds func(path string) bool, visit func(e Entry, problem string) error) error {
	return t.Walk(name, func(e Entry) error {
		wanted := e.Path == name || holds(e.Path)
		if e.IsFile() && !wanted {
			return nil
		}
		switch e.Mode {
		case Regular:
			return visit(e, "")
		case Executable:
			return visit(e, "is executable")
		case Symlink:
			if target, err := t.Follow(e); !wanted && err == nil && target.IsFile() {
				return nil
			}
		}
		return visit(e, "is a link, a submodule or of an unknown mode")
	})
}

// Blob returns the content of a file by its hash. A file of more than [MaxFile] bytes is
// [ErrTooLarge].
func (r *Repository) Blob(hash Hash) ([]byte, error) { return r.read(KindBlob, hash, MaxFile) }
