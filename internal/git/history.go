package git

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// MaxHistory is the maximum number of commits of one walk through history.
const MaxHistory = 200_000

// ErrHistory means that the history is longer than [MaxHistory].
var ErrHistory = fmt.Errorf("there are more than %d commits to look at", MaxHistory)

// known returns the parents of a commit that are in the repository. The first commits of a shallow
// clone have none.
func (r *Repository) known(commit *Commit) ([]Hash, error) {
	if len(commit.Parents) == 0 {
		return nil, nil
	}
	cut, err := r.Shallow()
	if err != nil || slices.Contains(cut, commit.Hash) {
		return nil, err
	}
	return commit.Parents, nil
}

// Contains reports whether a commit is another one or has it in its history.
func (r *Repository) Contains(commit, other Hash) (bool, error) {
	return r.ContainsSince(commit, other, ZeroHash)
}

// ContainsSince is [Repository.Contains] for a commit that is not in the history of since. It does
// not search that history.
func (r *Repository) ContainsSince(commit, other, since Hash) (bool, error) {
	found := false
	err := r.ancestors(commit, since, func(hash Hash) bool {
		found = hash == other
		return !found
	})
	return found, err
}

// ancestors calls visit for a commit and all its ancestors, each once and the nearer ones first,
// until visit returns false. It stops at since, if set. More than [MaxHistory] commits are
// [ErrHistory].
func (r *Repository) ancestors(commit, since Hash, visit func(Hash) bool) error {
	defer r.wholeHistory()()
	met := map[Hash]bool{commit: true}
	for waiting := []Hash{commit}; len(waiting) > 0; waiting = waiting[1:] {
		if !visit(waiting[0]) {
			return nil
		}
		if waiting[0] == since {
			continue
		}
		at, err := r.Commit(waiting[0])
		if err != nil {
			return err
		}
		parents, err := r.known(at)
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

// wholeHistory removes the limit on the work for one tree until the returned function is called. A
// walk through history has its own limit.
func (r *Repository) wholeHistory() func() {
	left := r.left
	r.left.bounded = false
	return func() { r.left = left }
}

// Origin is the commit that gave a file its present content: the last one that changed it, among
// the first parents of a commit.
type Origin struct {
	Commit      Hash
	Author      string // "Name <address>", untrusted
	CommittedAt time.Time
}

// Origins returns the origins of files of a commit. A file is missing in the result if the history
// does not reach far enough, for example in a shallow clone. One walk finds all files.
func (r *Repository) Origins(commit Hash, paths []string) (map[string]Origin, error) {
	defer r.wholeHistory()()
	at, err := r.Commit(commit)
	if err != nil {
		return nil, err
	}
	origins := map[string]Origin{}
	waiting, folders := map[string]bool{}, foldersOf(paths)
	for _, name := range paths {
		waiting[name] = true
	}
	for range MaxHistory {
		if len(waiting) == 0 {
			return origins, nil
		}
		parents, err := r.known(at)
		if err != nil {
			return nil, err
		}
		if len(parents) == 0 && len(at.Parents) > 0 {
			return origins, nil // a shallow clone starts here
		}
		parent := &Commit{}
		if len(parents) > 0 {
			if parent, err = r.Commit(parents[0]); err != nil {
				return nil, err
			}
		}
		d := differing{objects: r, into: folders, visit: func(c Change) error {
			if waiting[c.Path] {
				origins[c.Path] = Origin{Commit: at.Hash,
					Author:      fmt.Sprintf("%s <%s>", at.Author.Name, at.Author.Email),
					CommittedAt: at.Committer.When}
				delete(waiting, c.Path)
			}
			return nil
		}}
		if err := d.entries(".", parent.root(), at.root()); err != nil || len(parents) == 0 {
			return origins, err
		}
		at = parent
	}
	return nil, ErrHistory
}

// ErrShallow means that the history of a repository is incomplete.
var ErrShallow = errors.New("the clone does not have the whole history (git fetch --unshallow; in GitHub Actions, " +
	"check out with fetch-depth: 0)")

// Ever calls visit for each file of a folder in a commit or its history, at least once for each
// content. In a shallow clone it returns [ErrShallow].
func (r *Repository) Ever(commit Hash, folder string, visit func(*Tree, Entry) error) error {
	defer r.wholeHistory()()
	if cut, err := r.Shallow(); err != nil || len(cut) > 0 {
		return cmp.Or(err, ErrShallow)
	}
	var failed error
	err := r.ancestors(commit, ZeroHash, func(hash Hash) bool {
		failed = r.brought(hash, folder, visit)
		return failed == nil
	})
	return cmp.Or(failed, err)
}

// brought calls visit for the files of a folder that differ from the first parent of a commit.
func (r *Repository) brought(hash Hash, folder string, visit func(*Tree, Entry) error) error {
	var before *Tree
	tree, err := r.Tree(hash)
	if err != nil {
		return err
	}
	at, err := r.Commit(hash)
	if err == nil && len(at.Parents) > 0 {
		before, err = r.Tree(at.Parents[0])
	}
	if err != nil {
		return err
	}
	return Differences(before, tree, folder, func(c Change) error {
		if c.New.Hash().IsZero() {
			return nil
		}
		return visit(tree, c.New)
	})
}
