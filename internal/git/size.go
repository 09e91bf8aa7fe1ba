package git

import (
	"fmt"
)

// size is the size of a folder.
type size struct {
	entries int // files and folders; MaxEntries+1 means more than MaxEntries
	levels  int // depth of nested folders, including itself
}

// size measures a folder and those below it. It reads each folder once: 40 trees that each contain
// the next one twice are a million million folders.
func (t *Tree) size(folder Entry, depth int) (size, error) {
	s, known := t.sized[folder.hash]
	if !known {
		var err error
		if s, err = t.measure(folder, depth); err != nil {
			return size{}, err
		}
		if t.sized == nil {
			t.sized = map[Hash]size{}
		}
		t.sized[folder.hash] = s
	}
	if depth+s.levels > MaxDepth+1 && !t.cut {
		return size{}, fmt.Errorf("%q: there are more than %d levels of folders", folder.Path, MaxDepth)
	}
	return s, nil
}

func (t *Tree) measure(folder Entry, depth int) (size, error) {
	if depth > MaxDepth && !t.cut {
		return size{}, fmt.Errorf("%q: there are more than %d levels of folders", folder.Path, MaxDepth)
	}
	if len(t.sized) >= MaxEntries {
		return size{}, fmt.Errorf("%q: there are more than %d folders", folder.Path, MaxEntries)
	}
	entries, err := t.entries(folder)
	if err != nil {
		return size{}, err
	}
	s := size{entries: len(entries), levels: 1}
	for _, e := range entries {
		if e.Mode != Dir {
			continue
		}
		below, err := t.size(e, depth+1)
		if err != nil {
			return size{}, err
		}
		s.entries = min(s.entries+below.entries, MaxEntries+1)
		s.levels = max(s.levels, below.levels+1)
	}
	return s, nil
}
