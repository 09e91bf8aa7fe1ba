package gitchange

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// MaxHistory is how many commits are looked at in one walk through history.
const MaxHistory = 200_000

// ErrHistory says that history goes on beyond [MaxHistory].
var ErrHistory = fmt.Errorf("there are more than %d commits to look at", MaxHistory)

// commit reads a commit.
func (c *Clone) commit(hash plumbing.Hash) (*object.Commit, error) {
	commit, err := object.GetCommit(c.repository.Storer, hash)
	if err != nil {
		return nil, fmt.Errorf("read commit %s: %w", hash, err)
	}
	return commit, nil
}

// CommittedAt returns when a commit was made, as it says itself.
func (c *Clone) CommittedAt(hash plumbing.Hash) (time.Time, error) {
	commit, err := c.commit(hash)
	if err != nil {
		return time.Time{}, err
	}
	return commit.Committer.When, nil
}

// parents returns the parents of a commit that the clone has: a shallow one has
// none of those where it begins.
func (c *Clone) parents(commit *object.Commit) ([]plumbing.Hash, error) {
	if len(commit.ParentHashes) == 0 {
		return nil, nil
	}
	shallow, err := c.repository.Storer.Shallow()
	if err != nil {
		return nil, fmt.Errorf("read where the clone begins: %w", err)
	}
	if slices.Contains(shallow, commit.Hash) {
		return nil, nil
	}
	return commit.ParentHashes, nil
}

// Contains reports whether a commit is another, or has it in its history.
func (c *Clone) Contains(commit, other plumbing.Hash) (bool, error) {
	return c.containsSince(commit, other, plumbing.ZeroHash)
}

// containsSince is Contains for one that is known not to be in the history of
// since: it looks no further back than that.
func (c *Clone) containsSince(commit, other, since plumbing.Hash) (bool, error) {
	found := false
	err := c.ancestors(commit, since, func(hash plumbing.Hash) bool {
		found = hash == other
		return !found
	})
	return found, err
}

// ancestors calls visit for a commit and all that lead to it, each once, the
// nearer ones first, until visit returns false. It goes no further back than
// since, where that is not zero.
func (c *Clone) ancestors(commit, since plumbing.Hash, visit func(plumbing.Hash) bool) error {
	met := map[plumbing.Hash]bool{commit: true}
	for waiting := []plumbing.Hash{commit}; len(waiting) > 0; waiting = waiting[1:] {
		if !visit(waiting[0]) {
			return nil
		}
		if waiting[0] == since {
			continue
		}
		at, err := c.commit(waiting[0])
		if err != nil {
			return err
		}
		parents, err := c.parents(at)
		if err != nil {
			return err
		}
		for _, parent := range parents {
			if !met[parent] {
				met[parent] = true
				waiting = append(waiting, parent)
			}
		}
		if len(met) > MaxHistory {
			return ErrHistory
		}
	}
	return nil
}

// errMerge says that a commit has several parents.
var errMerge = errors.New("it is a merge")

// Unpushed returns the commits that HEAD has and another commit has not, the
// oldest first. A merge among them is an error.
func (c *Clone) Unpushed(tip plumbing.Hash) ([]plumbing.Hash, error) {
	head, err := c.Head()
	if err != nil {
		return nil, err
	}
	there := map[plumbing.Hash]bool{}
	if err := c.ancestors(tip, plumbing.ZeroHash, func(hash plumbing.Hash) bool {
		there[hash] = true
		return hash != head.Commit // the usual case ends here
	}); err != nil {
		return nil, err
	}
	var unpushed []plumbing.Hash
	for at := head.Commit; !there[at]; {
		commit, err := c.commit(at)
		if err != nil {
			return nil, err
		}
		parents, err := c.parents(commit)
		if err != nil {
			return nil, err
		}
		unpushed = append(unpushed, at)
		if len(parents) != 1 {
			return nil, fmt.Errorf("commit %s is not on the remote: %w", at, errMerge)
		}
		if len(unpushed) > MaxHistory {
			return nil, ErrHistory
		}
		at = parents[0]
	}
	slices.Reverse(unpushed)
	return unpushed, nil
}
