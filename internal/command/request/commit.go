package request

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/commitflags"
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/request"
)

// commit commits drafts on a branch of their own, for a pull request.
func (r *run) commit(ctx context.Context, drafts []request.Draft) error {
	clone, err := commitflags.Open(r.streams)
	if err != nil {
		return err
	}
	defer clone.Close() //nolint:errcheck // the kernel would do it
	flags := &r.options.output.commit
	by, err := flags.By(clone, r.now)
	if err != nil {
		return err
	}
	author, err := clone.Signature(by)
	if err != nil {
		return err
	}
	p := &proposal{folder: r.folders.Unsigned, drafts: drafts, signedOffBy: fmt.Sprintf("%s <%s>", author.Name, author.Email)}
	result, err := r.branch(ctx, clone, by, p)
	if err != nil {
		return branchHint(err)
	}
	reason := reasonDrafted
	if result.Change.Message == "" {
		reason = reasonThere
	}
	for _, d := range drafts {
		r.drafted(d, p.path(d), reason)
	}
	_, _ = fmt.Fprintf(r.streams.Err, "%s: %s\n", flags.Branch, result.Commit)
	return nil
}

// branch makes the branch in the clone or on the remote.
func (r *run) branch(ctx context.Context, clone *commit.Clone, by commit.Author, p *proposal) (commit.Result, error) {
	flags := r.options.output.commit
	if !flags.Push {
		return clone.Branch(ctx, by, flags.Branch, p.propose)
	}
	onto := flags
	onto.Branch = "" // the branch of HEAD
	to, err := onto.To(clone)
	var usage *cli.UsageError
	if errors.As(err, &usage) {
		usage.Hint = "name the remote with --remote, and check out a branch that follows the target branch"
	}
	if err != nil {
		return commit.Result{}, err
	}
	pushed, err := clone.Remote(commit.Remote{Name: to.To.Name, Branch: flags.Branch})
	if err != nil {
		return commit.Result{}, &cli.UsageError{Err: err}
	}
	if _, there, err := clone.Ask(ctx, pushed); err != nil || there {
		return r.onBranch(ctx, clone, to.To, pushed, p, err)
	}
	to.As = flags.Branch
	return clone.Push(ctx, by, to, p.propose)
}

// onBranch handles a branch that the remote has already. Anybody may have pushed it. It is accepted
// only if it has the drafts and is one commit on top of the target branch that only adds drafts, or
// if it is merged already.
func (r *run) onBranch(ctx context.Context, clone *commit.Clone, target, pushed commit.Remote, p *proposal, err error) (commit.Result, error) {
	if err != nil {
		return commit.Result{}, err
	}
	tip, err := clone.Fetch(ctx, pushed)
	if err != nil {
		return commit.Result{}, err
	}
	main, err := clone.Fetch(ctx, target)
	if err != nil {
		return commit.Result{}, err
	}
	holds, err := clone.Holds(tip, p.propose)
	if err == nil && holds {
		holds, err = isProposal(clone, tip, main, p)
	}
	if err == nil && !holds {
		err = fmt.Errorf("%w: %s", commit.ErrBranchExists, pushed)
	}
	return commit.Result{Commit: tip}, err
}

// isProposal reports whether a commit with the drafts is part of main, or is one commit on top of
// it that only adds drafts.
func isProposal(clone *commit.Clone, tip, main plumbing.Hash, p *proposal) (bool, error) {
	if merged, err := clone.Contains(main, tip); err != nil || merged {
		return merged, err
	}
	did, err := clone.Replay(tip)
	if err != nil {
		return false, nil //nolint:nilerr // a merge, or the first commit of another history
	}
	for _, name := range did.Written {
		if !slices.ContainsFunc(p.drafts, func(d request.Draft) bool { return p.path(d) == name }) {
			return false, nil
		}
	}
	if len(did.Removed) > 0 {
		return false, nil
	}
	return clone.Contains(main, did.Parent)
}

func branchHint(err error) error {
	switch {
	case errors.Is(err, commit.ErrBranchExists), errors.Is(err, errInTheWay):
		return cli.Hint(err, "nothing was changed; name another branch, or delete that one")
	case errors.Is(err, commit.ErrBranchBelow):
		return cli.Hint(err, "nothing was changed; name another branch with --pull-request-branch")
	}
	return commitflags.Hint(err, "")
}

// proposal is the content of a branch.
type proposal struct {
	folder      string
	drafts      []request.Draft
	signedOffBy string
}

func (p *proposal) path(d request.Draft) string { return path.Join(p.folder, fileOf(d)) }

var errInTheWay = errors.New("the file exists with different content")

// propose adds the files that the tree does not have.
func (p *proposal) propose(tree *git.Tree) (commit.Change, error) {
	change := commit.Change{Write: map[string][]byte{}}
	for _, d := range p.drafts {
		name := p.path(d)
		entry, err := tree.Find(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			change.Write[name] = d.Source
			continue
		case err != nil:
			return change, err
		case entry.Mode != filemode.Regular:
			return change, fmt.Errorf("%s: %w", name, errInTheWay)
		}
		there, err := tree.Read(entry)
		if err != nil {
			return change, err
		}
		if !bytes.Equal(there, d.Source) {
			return change, fmt.Errorf("%s: %w", name, errInTheWay)
		}
	}
	if len(change.Write) > 0 {
		change.Message = p.message()
	}
	return change, nil
}

// message returns the commit message. Drafts have only plain names, and the statements of people
// are in the file, so the message contains no hostile text.
func (p *proposal) message() string {
	var b strings.Builder
	if len(p.drafts) == 1 {
		fmt.Fprintf(&b, "Request %s\n\n", p.drafts[0].Document.Identity().Name)
	} else {
		fmt.Fprintf(&b, "Request %d exceptions\n\n", len(p.drafts))
	}
	for _, d := range p.drafts {
		fmt.Fprintf(&b, "%s: %s.\n", d.Document.Identity().Name, d.Words)
	}
	fmt.Fprintf(&b, "\nSigned-off-by: %s\n", p.signedOffBy)
	return b.String()
}
