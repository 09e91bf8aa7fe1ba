package promotion

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
)

// Target returns the commit for the plan: the tip of the target branch. It fetches the branch, so a
// repeated run does not sign a request that was signed or removed in the meantime.
//
// local is for a promotion that stays in the clone. Then the local branch is used if it contains
// the remote branch, or if the remote does not have that branch.
func Target(ctx context.Context, clone *commit.Clone, branch commit.Remote, local bool) (git.Hash, error) {
	if !local {
		return clone.Fetch(ctx, branch)
	}
	head, err := clone.Head()
	if err != nil {
		return git.ZeroHash, err
	}
	switch _, there, err := clone.Ask(ctx, branch); {
	case err != nil:
		return git.ZeroHash, fmt.Errorf("ask the remote for %s: %w", branch, err)
	case !there:
		return head.Commit, nil
	}
	tip, err := clone.Fetch(ctx, branch)
	if err != nil {
		return git.ZeroHash, err
	}
	if ahead, err := clone.Contains(head.Commit, tip); err != nil || ahead {
		return head.Commit, err
	}
	return tip, nil
}

// askedAgain returns the unchanged pending files that another commit than the one in the source
// added. Such a request was removed and made again, and the first approval does not cover the
// second request.
func (q *Queue) askedAgain(there *listing, on git.Hash) (map[string]bool, error) {
	if on == q.source {
		return nil, nil
	}
	var paths []string
	for _, f := range q.files {
		if there.waiting(f.From) == f.Blob {
			paths = append(paths, f.From)
		}
	}
	origins, err := q.clone.Origins(on, paths)
	if err != nil {
		return nil, err
	}
	again := map[string]bool{}
	for _, f := range q.files {
		// If only the history of the target branch shows the origin of a file, it was added later.
		now, known := origins[f.From]
		if f.Origin != nil && now.Commit != f.Origin.Commit || f.Origin == nil && known {
			again[f.From] = true
		}
	}
	return again, nil
}

// changedRule returns the first of [Options.Rules] that differs between a tree and HEAD, or "".
// This run read its rules from HEAD. A repeated old run does not know the current rules of the
// target branch.
func (q *Queue) changedRule(there *git.Tree) (string, error) {
	if len(q.options.Rules) == 0 || there.Commit() == q.head.Commit.String() {
		return "", nil
	}
	here, err := q.clone.Tree(q.head.Commit)
	if err != nil {
		return "", err
	}
	for _, name := range q.options.Rules {
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
