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
	o := &object{most: most, left: &r.left}
	if err := r.object(hash, o); err != nil {
		return 0, nil, fmt.Errorf("read object %s: %w", hash, err)
	}
	if o.Sum() != hash {
		return 0, nil, fmt.Errorf("read object %s: the repository is damaged: the content does not match the hash", hash)
	}
	return o.kind, o.content, nil
}

// object receives an object: the hash of all of it, and the content up to a size. Of a larger commit it
// keeps the first bytes, because one large commit must not make a history unreadable. Other objects
// above that size are [ErrTooLarge].
type object struct {
	plumbing.Hasher
	kind    plumbing.ObjectType
	most    int64
	content []byte
	left    *budget
}

// begin takes the kind and the size, which come before the content.
func (o *object) begin(kind plumbing.ObjectType, size int64) error {
	o.kind, o.Hasher = kind, plumbing.NewHasher(kind, size)
	if size > o.most && (kind != plumbing.CommitObject || size > processLimit) {
		return tooLarge(size, o.most)
	}
	if err := o.left.spend(size); err != nil {
		return err
	}
	o.content = make([]byte, 0, min(size, o.most))
	return nil
}

// Write hashes a part of the content. It never fails.
func (o *object) Write(part []byte) (int, error) {
	o.content = append(o.content, part[:min(len(part), cap(o.content)-len(o.content))]...)
	return o.Hasher.Write(part)
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
