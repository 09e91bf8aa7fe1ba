package git

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// read returns an object of a kind, once its content is what its name promises.
func (r *Repository) read(kind plumbing.ObjectType, hash plumbing.Hash, most int64) ([]byte, error) {
	found, content, err := r.readAny(hash, most)
	if err == nil && found != kind {
		err = fmt.Errorf("%s is a %s, and a %s is expected", hash, found, kind)
	}
	return content, err
}

func (r *Repository) readAny(hash plumbing.Hash, most int64) (plumbing.ObjectType, []byte, error) {
	kind, content, err := r.object(hash, most)
	if err != nil {
		return 0, nil, fmt.Errorf("read object %s: %w", hash, err)
	}
	if plumbing.ComputeHash(kind, content) != hash {
		return 0, nil, fmt.Errorf("read object %s: the repository is damaged: its content is another", hash)
	}
	return kind, content, nil
}

// header returns the hash on the first line of a commit or a tag.
func header(content []byte, key string) (plumbing.Hash, error) {
	line, _, _ := bytes.Cut(content, []byte("\n"))
	text, ok := strings.CutPrefix(string(line), key)
	if !ok || !plumbing.IsHash(text) {
		return plumbing.ZeroHash, fmt.Errorf("it does not begin with %q and a hash", key)
	}
	return plumbing.NewHash(text), nil
}

// treeEntry is one line of a tree: a name in a folder.
type treeEntry struct {
	name string
	mode filemode.FileMode
	hash plumbing.Hash
}

// parseTree reads a tree: for every entry its mode in octal digits, a space, its
// name, a zero byte and its hash.
func parseTree(content []byte) ([]treeEntry, error) {
	var entries []treeEntry
	seen := map[string]bool{}
	for len(content) > 0 {
		if len(entries) == MaxEntries {
			return nil, fmt.Errorf("the tree has more than %d entries", MaxEntries)
		}
		line, rest, ok := bytes.Cut(content, []byte{0})
		if !ok || len(rest) < len(plumbing.Hash{}) {
			return nil, errors.New("the tree is cut off")
		}
		digits, name, _ := strings.Cut(string(line), " ")
		mode, err := strconv.ParseUint(digits, 8, 20)
		if err != nil {
			return nil, fmt.Errorf("the tree has an entry of the mode %q", digits)
		}
		if !plainName(name) {
			return nil, fmt.Errorf("the tree has an entry called %q, which is no name in a folder", name)
		}
		if seen[name] {
			return nil, fmt.Errorf("the tree has two entries called %q", name)
		}
		seen[name] = true
		e := treeEntry{name: name, mode: filemode.FileMode(mode)}
		copy(e.hash[:], rest)
		entries, content = append(entries, e), rest[len(e.hash):]
	}
	return entries, nil
}

// plainName refuses the names that lead elsewhere when a tree is checked out,
// and .git, which would be a repository.
func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.Contains(name, "/") && !strings.EqualFold(name, ".git")
}
