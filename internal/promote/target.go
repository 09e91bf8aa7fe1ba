package promote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
)

// Target returns the commit that a queue is planned on: the tip of the target branch, which
// is fetched now, so that a run which is repeated signs nothing that was signed or
// withdrawn since.
//
// local is for a promotion that stays in the clone. Then the local branch counts where it
// has everything that the remote has, or where the remote does not have that branch.
func Target(ctx context.Context, clone *commit.Clone, branch commit.Remote, local bool) (plumbing.Hash, error) {
	if !local {
		return clone.Fetch(ctx, branch)
	}
	head, err := clone.Head()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	switch _, there, err := clone.Ask(ctx, branch); {
	case err != nil:
		return plumbing.ZeroHash, fmt.Errorf("ask the remote for %s: %w", branch, err)
	case !there:
		return head.Commit, nil
	}
	tip, err := clone.Fetch(ctx, branch)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if ahead, err := clone.Contains(head.Commit, tip); err != nil || ahead {
		return head.Commit, err
	}
	return tip, nil
}

// askedAgain returns the files of the queue that a commit has unchanged, and that another
// commit than in the source brought there: the request was withdrawn and made again, and
// the approval of the first is not the approval of the second.
func (q *Queue) askedAgain(there *listing, on plumbing.Hash) (map[string]bool, error) {
	if on == q.source {
		return nil, nil
	}
	var paths []string
	for _, f := range q.files {
		if there.waiting(f.from) == f.blob {
			paths = append(paths, f.from)
		}
	}
	origins, err := q.clone.Origins(on, paths)
	if err != nil {
		return nil, err
	}
	again := map[string]bool{}
	for _, f := range q.files {
		// Where the history of this clone does not tell where it came from, and that of the
		// branch does, it came later.
		now, known := origins[f.from]
		if f.origin != nil && now.Commit != f.origin.Commit || f.origin == nil && known {
			again[f.from] = true
		}
	}
	return again, nil
}

// changedRule returns the first of [Options.Rules] that is another in a tree than in HEAD,
// which the rules of this run are from, or "": an old run that is repeated knows nothing of
// what main asks for now.
func (q *Queue) changedRule(there *git.Tree) (string, error) {
	if len(q.options.Rules) == 0 || there.Commit() == q.head.Commit.String() {
		return "", nil
	}
	here, err := q.clone.Tree(q.head.Commit)
	if err != nil {
		return "", err
	}
	return q.options.changedRule(here, there)
}

func (o *Options) changedRule(here, there *git.Tree) (string, error) {
	for _, name := range o.Rules {
		var found [2]git.Entry
		for i, tree := range []*git.Tree{here, there} {
			var err error
			if found[i], err = tree.Find(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
		if found[0] != found[1] {
			return name, nil
		}
	}
	return "", nil
}
