package review

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/git"
)

// Origin is a commit of the branch, with the files to sign that it last changed.
type Origin struct {
	Commit string // hash, in lower case
	Files  []File
}

// File is a file of an [Origin].
type File struct {
	Path string // relative to the repository's root, with slashes
	Blob string // hash of its content, in lower case
}

// History reads the repository of the exceptions, such as a [git.Repository].
type History interface {
	// Commit returns a commit, or an error if the repository does not have it.
	Commit(hash git.Hash) (*git.Commit, error)
	// ReadFile returns a regular file of a commit. The error is [fs.ErrNotExist] if there is none.
	ReadFile(commit git.Hash, path string) ([]byte, error)
}

// missing explains an error of a [History].
func missing(what string, err error) error {
	return &UnknownError{What: what, Err: err,
		Advice: "does the clone have its history? In GitHub Actions, check it out with fetch-depth: 0"}
}

// ancestors returns up to most ancestors of a commit by first parents, the nearest first.
func ancestors(h History, commit git.Hash, most int) ([]git.Hash, error) {
	var found []git.Hash
	for len(found) < most {
		c, err := h.Commit(commit)
		if err != nil {
			return nil, missing(fmt.Sprintf("read commit %q", commit), err)
		}
		if len(c.Parents) == 0 {
			break
		}
		commit = c.Parents[0]
		found = append(found, commit)
	}
	return found, nil
}

// The forms of values that are used in later requests or written into a signed document. Every
// source is checked.
var (
	loginForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,38}(\[bot\])?$`)
	hashForm  = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)
)

// checkLogin rejects a string that is not a valid GitHub login.
func checkLogin(login string) error {
	if !loginForm.MatchString(login) {
		return &UnknownError{What: fmt.Sprintf("%q is not a login", login)}
	}
	return nil
}

// sortLogins sorts logins without regard to case.
func sortLogins(logins []string) {
	slices.SortFunc(logins, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
}

// find returns the pull request that added a commit to the branch, or nil.
func (r *Reviewer) find(ctx context.Context, commit string) (*forge.PullRequest, error) {
	candidates, err := r.config.Reviews.Merged(ctx, commit)
	if err != nil {
		return nil, unanswered("look for the pull request of commit "+commit, err)
	}
	candidates = slices.DeleteFunc(candidates, func(p forge.PullRequest) bool { return p.Base != r.config.Branch })
	if len(candidates) > maxCandidates {
		return nil, &UnknownError{What: fmt.Sprintf("commit %s is of more than %d pull requests", commit,
			maxCandidates)}
	}
	var found []*forge.PullRequest
	for i := range candidates {
		switch brought, err := r.brought(ctx, &candidates[i], commit); {
		case err != nil:
			return nil, err
		case brought:
			found = append(found, &candidates[i])
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], checkAuthor(found[0])
	default:
		return nil, &UnknownError{What: fmt.Sprintf("commit %s is the merge of %d pull requests, including %d and %d",
			commit, len(found), found[0].Number, found[1].Number)}
	}
}

// checkAuthor rejects a pull request without a valid author.
func checkAuthor(p *forge.PullRequest) error {
	if p.Author == nil {
		return &UnknownError{What: fmt.Sprintf("pull request %d does not state its author", p.Number)}
	}
	return checkLogin(p.Author.Login)
}

const (
	maxCandidates = 20   // maximum number of possible pull requests of a commit
	maxCommits    = 1000 // maximum number of commits in a pull request
)

// brought reports whether commit is the merge of a pull request, or one of the commits of its
// rebase merge. A commit with one parent can be a squash or the last commit of a rebase merge.
func (r *Reviewer) brought(ctx context.Context, m *forge.PullRequest, commit string) (bool, error) {
	if !hashForm.MatchString(m.Merge) {
		return false, &UnknownError{What: fmt.Sprintf("pull request %d says that it was merged as %q", m.Number,
			m.Merge)}
	}
	if m.Merge == commit {
		return true, nil
	}
	last, err := r.config.History.Commit(git.NewHash(m.Merge))
	if err != nil {
		return false, missing(fmt.Sprintf("read commit %s, as which pull request %d was merged", m.Merge,
			m.Number), err)
	}
	if len(last.Parents) != 1 {
		return false, nil
	}
	count, err := r.config.Reviews.CommitCount(ctx, m.Number)
	if err != nil {
		return false, unanswered(fmt.Sprintf("read pull request %d", m.Number), err)
	}
	if count < 1 || count > maxCommits {
		return false, &UnknownError{What: fmt.Sprintf("pull request %d has %d commits, expected 1 to %d", m.Number,
			count, maxCommits)}
	}
	series, err := ancestors(r.config.History, git.NewHash(m.Merge), count-1)
	return slices.Contains(series, git.NewHash(commit)), err
}
