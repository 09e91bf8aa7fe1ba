package record

import (
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"github.com/polex-dev/polex/internal/gittree"
	"github.com/polex-dev/polex/internal/review"
)

// History is that of a repository, out of its objects alone.
func History(objects storer.EncodedObjectStorer) review.History { return history{objects} }

type history struct{ objects storer.EncodedObjectStorer }

const maxCommit = 1 << 20 // bytes

// Commit returns a commit, as [review.History] wants it.
func (h history) Commit(hash string) (review.Commit, error) {
	encoded, err := h.objects.EncodedObject(plumbing.CommitObject, plumbing.NewHash(hash))
	if err != nil {
		return review.Commit{}, err
	}
	if encoded.Size() > maxCommit {
		return review.Commit{}, fmt.Errorf("it is longer than %d bytes", maxCommit)
	}
	commit, err := object.DecodeCommit(h.objects, encoded)
	if err != nil {
		return review.Commit{}, err
	}
	c := review.Commit{Message: commit.Message, AuthorEmail: commit.Author.Email}
	for _, parent := range commit.ParentHashes {
		c.Parents = append(c.Parents, parent.String())
	}
	return c, nil
}

// ReadFile returns a regular file of a commit, as [review.History] wants it.
func (h history) ReadFile(commit, path string) ([]byte, error) {
	tree, err := gittree.In(h.objects, plumbing.NewHash(commit))
	if err != nil {
		return nil, err
	}
	entry, err := tree.Find(path)
	if err != nil {
		return nil, err
	}
	return tree.Read(entry)
}
