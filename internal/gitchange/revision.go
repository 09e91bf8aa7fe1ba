package gitchange

import (
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/polex-dev/polex/internal/gittree"
)

// Resolve returns the commit that HEAD, a whole hash, or the name of a tag, a
// branch or a remote branch stands for. A name that several have counts when
// they all lead to one commit. What no repository could have is a
// *[gittree.RevisionError].
func (c *Clone) Resolve(revision string) (plumbing.Hash, error) {
	if err := gittree.CheckRevision(revision); err != nil {
		return plumbing.ZeroHash, err
	}
	if plumbing.IsHash(revision) {
		return c.peel(plumbing.NewHash(revision))
	}
	names := []string{"refs/tags/" + revision, "refs/heads/" + revision, "refs/remotes/" + revision}
	if revision == "HEAD" {
		names = []string{revision}
	}
	var found plumbing.Hash
	for _, name := range names {
		reference, err := c.repository.Reference(plumbing.ReferenceName(name), true)
		if errors.Is(err, plumbing.ErrReferenceNotFound) {
			continue
		}
		if err != nil {
			return plumbing.ZeroHash, fmt.Errorf("read %s: %w", name, err)
		}
		commit, err := c.peel(reference.Hash())
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if !found.IsZero() && found != commit {
			return plumbing.ZeroHash, fmt.Errorf("%q is the name of two commits, %s and %s: write the whole hash", revision, found, commit)
		}
		found = commit
	}
	if found.IsZero() {
		return found, fmt.Errorf("the repository has no %q: has it been fetched? A hash is written in whole", revision)
	}
	return found, nil
}

// peel returns the commit that a hash names, or that the tag is about.
func (c *Clone) peel(hash plumbing.Hash) (plumbing.Hash, error) {
	if tag, err := object.GetTag(c.repository.Storer, hash); err == nil {
		commit, err := tag.Commit()
		if err != nil {
			return plumbing.ZeroHash, fmt.Errorf("read what the tag %s is about: %w", hash, err)
		}
		return commit.Hash, nil
	}
	commit, err := c.commit(hash)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return commit.Hash, nil
}
