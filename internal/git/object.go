package git

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// read returns an object of a kind after it checks the content against the hash.
func (r *Repository) read(kind plumbing.ObjectType, hash plumbing.Hash, most int64) ([]byte, error) {
	found, content, err := r.readAny(hash, most)
	if err == nil && found != kind {
		err = fmt.Errorf("%s is a %s, expected a %s", hash, found, kind)
	}
	return content, err
}

func (r *Repository) readAny(hash plumbing.Hash, most int64) (plumbing.ObjectType, []byte, error) {
	kind, content, err := r.object(hash, most)
	if err != nil {
		return 0, nil, fmt.Errorf("read object %s: %w", hash, err)
	}
	if plumbing.ComputeHash(kind, content) != hash {
		return 0, nil, fmt.Errorf("read object %s: the repository is damaged: the content does not match the hash", hash)
	}
	return kind, content, nil
}

// header returns the hash on the first line of a commit or tag.
func header(content []byte, key string) (plumbing.Hash, error) {
	line, _, _ := bytes.Cut(content, []byte("\n"))
	text, ok := strings.CutPrefix(string(line), key)
	if !ok || !plumbing.IsHash(text) {
		return plumbing.ZeroHash, fmt.Errorf("it does not begin with %q and a hash", key)
	}
	return plumbing.NewHash(text), nil
}

// plainName rejects names that lead elsewhere in a checkout, and .git, which would be a repository.
func plainName(name []byte) bool {
	return len(name) > 0 && string(name) != "." && string(name) != ".." && bytes.IndexByte(name, '/') < 0 && !bytes.EqualFold(name, []byte(".git"))
}
