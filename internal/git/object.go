package git

import (
	"bytes"
	"fmt"
	"strings"
)

// read returns an object of a kind after it checks the content against the hash.
func (r *Repository) read(kind Kind, hash Hash, most int64) ([]byte, error) {
	found, content, err := r.readAs(hash, most, kind != KindBlob)
	if err == nil && found != kind {
		err = fmt.Errorf("%s is a %s, expected a %s", hash, found, kind)
	}
	return content, err
}

func (r *Repository) readAs(hash Hash, most int64, structure bool) (Kind, []byte, error) {
	o := &object{most: most, structure: structure, left: &r.left}
	if err := r.object(hash, o); err != nil {
		return "", nil, fmt.Errorf("read object %s: %w", hash, err)
	}
	if sum := o.sum(); sum.IsZero() || sum != hash { // zero for a collision
		return "", nil, fmt.Errorf("read object %s: the repository is damaged: the content does not match the hash",
			hash)
	}
	return o.kind, o.content, nil
}

// object receives an object: the hash of all of it, and the content up to a size. Of a larger commit it
// keeps the first bytes, because one large commit must not make a history unreadable. Other objects
// above that size are [ErrTooLarge].
type object struct {
	hasher
	kind      Kind
	size      int64
	most      int64
	structure bool // a commit or tree is expected, and no file
	content   []byte
	left      *budget
}

// begin takes the kind and the size, which come before the content.
func (o *object) begin(kind Kind, size int64) error {
	o.kind, o.size, o.hasher = kind, size, newHasher(kind, size)
	if size > o.most && (kind != KindCommit || size > processLimit) {
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
	return o.hasher.Write(part)
}

// header returns the hash on the first line of a commit or tag.
func header(content []byte, key string) (Hash, error) {
	line, _, _ := bytes.Cut(content, []byte("\n"))
	text, ok := strings.CutPrefix(string(line), key)
	if !ok || !IsHash(text) {
		return ZeroHash, fmt.Errorf("it does not begin with %q and a hash", key)
	}
	return NewHash(text), nil
}

// plainName rejects names that lead elsewhere in a checkout, and .git, which would be a repository.
func plainName(name []byte) bool {
	return len(name) > 0 && string(name) != "." && string(name) != ".." && bytes.IndexByte(name, '/') < 0 &&
		!bytes.EqualFold(name, []byte(".git"))
}
