package prune

import (
	"context"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion/deliver"
)

// Run removes the expired exceptions and delivers the change. It returns the exceptions that it
// found in the changed tree. A plan only examines HEAD.
func Run(ctx context.Context, clone *commit.Clone, o Options,
	to deliver.To) (found *Found, result commit.Result, err error) {
	if to.Way == deliver.Plan {
		head, err := clone.Head()
		if err != nil {
			return nil, result, err
		}
		tree, err := clone.Tree(head.Commit)
		if err != nil {
			return nil, result, err
		}
		found, err = Look(tree, o)
		return found, result, err
	}
	result, err = to.Make(ctx, clone, func(signedOffBy string) commit.Propose {
		return func(tree *git.Tree) (commit.Change, error) {
			if found, err = Look(tree, o); err != nil {
				return commit.Change{}, err
			}
			return found.Change(signedOffBy), nil
		}
	})
	return found, result, err
}
