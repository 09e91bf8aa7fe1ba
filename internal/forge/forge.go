package forge

import (
	"context"
	"fmt"
	"strings"

	"github.com/polex-dev/polex/internal/retry"
)

// Forge is a repository on a forge. It is safe for concurrent use.
type Forge interface {
	Commits
	PullRequests
	Reviews
	Comments
	Rules
}

// Commits makes commits that the forge signs.
type Commits interface {
	// CheckCommit rejects a change that CommitOnBranch cannot make.
	CheckCommit(message string, write map[string][]byte, remove []string) error
	// CreateBranch creates a branch at a commit. A branch that is at this commit already is no error.
	CreateBranch(ctx context.Context, branch, commit string) error
	// CommitOnBranch commits a change on a branch that is at base. The branch shows whether the
	// commit exists, and not the error.
	CommitOnBranch(ctx context.Context, branch, base, message string, write map[string][]byte, remove []string) error
	// DeleteBranch deletes a branch. A branch that does not exist is no error.
	DeleteBranch(ctx context.Context, branch string) error
	// ForwardBranch moves a branch to a commit that contains its present commit, never to another.
	ForwardBranch(ctx context.Context, branch, commit string) error
}

// PullRequests opens and closes pull requests.
type PullRequests interface {
	// Propose opens the pull request of a branch. If it is open already, Propose updates its text.
	Propose(ctx context.Context, p Proposal) (PullRequest, error)
	// Open returns the open pull requests into base, of branches of this repository with a prefix.
	Open(ctx context.Context, base, prefix string) ([]PullRequest, error)
	// Close closes a pull request without a merge.
	Close(ctx context.Context, number int) error
	// IsAncestor reports whether a commit is contained in another one. Both may be abbreviated.
	IsAncestor(ctx context.Context, commit, of string) (bool, error)
}

// Proposal is the content of a pull request for a branch of the repository.
type Proposal struct{ Branch, Base, Title, Body string }

// The maximum size of the title and the text of a pull request on GitHub, in characters.
const (
	maxTitle = 256
	maxText  = 60_000 // of 65,536
)

// NewProposal returns the pull request for a commit, with a sentence about it. The message is in a code
// block, where nothing in it is markup or notifies somebody.
func NewProposal(about, message, branch, base string) Proposal {
	title, rest, _ := strings.Cut(message, "\n")
	text := about + "\n\n"
	for line := range strings.Lines(strings.Trim(rest, "\n") + "\n") {
		if len(text)+len(line) > maxText {
			text += "    …\n"
			break
		}
		text += "    " + line
	}
	if len(title) > maxTitle {
		title = strings.ToValidUTF8(title[:maxTitle-3], "") + "…"
	}
	return Proposal{Branch: branch, Base: base, Title: title, Body: text}
}

// PullRequest is a pull request.
type PullRequest struct {
	Number int
	URL    string
	Branch string // of an open one
	// Base is the branch that it was merged into, Merge the commit on it, and Head the last commit
	// of the pull request. Only Merge is not checked to be a hash.
	Base, Merge, Head string
	Author            *Account // of a merged one; nil if the account is gone
}

// Account is an account of the forge.
type Account struct {
	ID     int64
	Login  string
	Person bool // and not a bot
}

// Is reports whether two accounts are one, perhaps after a change of its name.
func (a Account) Is(other Account) bool {
	return a.ID == other.ID || strings.EqualFold(a.Login, other.Login)
}

// Reviews reads the facts about the review of a merged pull request.
type Reviews interface {
	// Merged returns the merged pull requests of this repository that contain a commit.
	Merged(ctx context.Context, commit string) ([]PullRequest, error)
	// CommitCount returns the number of commits of a pull request.
	CommitCount(ctx context.Context, number int) (int, error)
	// Approvals returns each account whose last deciding review approves a pull request.
	Approvals(ctx context.Context, number int) ([]Approval, error)
	// Commit returns a commit.
	Commit(ctx context.Context, hash string) (Commit, error)
	// Folder returns the entries of a tree object.
	Folder(ctx context.Context, hash string) ([]Entry, error)
	// MayWrite reports whether an account has write access to the repository.
	MayWrite(ctx context.Context, a Account) (bool, error)
}

// MergeOf returns the number of the one merged pull request that contains a commit.
func MergeOf(ctx context.Context, r Reviews, commit string) (int, error) {
	merged, err := r.Merged(ctx, commit)
	switch {
	case err != nil:
		return 0, fmt.Errorf("ask for the pull request of %s: %w", commit, err)
	case len(merged) != 1:
		return 0, fmt.Errorf("commit %s is of %d pull requests that were merged, expected 1", commit, len(merged))
	}
	return merged[0].Number, nil
}

// Approval is an approving review.
type Approval struct {
	By     Account
	Commit string // approved commit
}

// Commit is a commit of the repository.
type Commit struct {
	Tree string // hash
	// Writers are the accounts of author and committer. The forge finds them by email addresses, which
	// the committer chooses. So they can only remove an approval, and never add one.
	Writers []Account
}

// Entry is an entry of a tree object, with its mode and type as Git writes them.
type Entry struct{ Path, Mode, Type, SHA string }

// Comments writes comments into pull requests.
type Comments interface {
	// Comment writes a text that begins with a marker into a pull request once. It updates the
	// comment with that marker of the account login if there is one with another text. An empty login
	// means the account of the forge's CI system. did is created, changed or unchanged.
	Comment(ctx context.Context, number int, login, marker, text string) (did string, err error)
}

// Rules reads the rules of a branch.
type Rules interface {
	// Rejecting returns the rules of a branch that reject a commit, without those that the identity of
	// the token may bypass. It cannot see all rules of every forge.
	Rejecting(ctx context.Context, branch string, c Change) ([]Rule, error)
}

// Change describes a commit for [Rules].
type Change struct{ Signed, Proposed bool }

// Rule is a rule of a branch, by the forge's name of it.
type Rule struct {
	Name      string
	Signature bool // it requires a signed commit, and not a pull request
}

// Workflow is a job of the forge's CI system, as its environment variables describe it.
type Workflow interface {
	// Running reports whether this process runs in such a job.
	Running() bool
	// Branch returns the branch that the job runs for, or "".
	Branch() string
	// Complete returns an error with a hint if a variable for Open is missing.
	Complete() error
	// Open returns the repository of the job. An empty token means the token of the job.
	Open(token string, timing retry.Timing) (Forge, error)
	// EventFile returns the path of the payload of the job's event, of at most [MaxEvent] bytes.
	EventFile() (string, error)
	// Event returns the pull request of the repository that an event merged, or nil.
	Event(payload []byte) (*PullRequest, error)
	// NumberOf returns the number in the address of a pull request of the repository.
	NumberOf(address string) (int, bool)
}

// MaxEvent is the maximum size of the payload of an event, in bytes.
const MaxEvent = 25 << 20
