package gitchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Author says who commits, and when.
type Author struct {
	// Name and Email of author and committer; unless both are given they are
	// those that Git would write (git var GIT_AUTHOR_IDENT).
	Name, Email string
	When        time.Time
	// Sign has the commit signed as Git's configuration says (gpg.format,
	// user.signingKey).
	Sign bool
}

// ErrNoAuthor says that neither the caller nor Git knows who commits.
var ErrNoAuthor = errors.New("nobody is named as the author of the commit")

// Signature returns who commits as Git writes it. It returns [ErrNoAuthor] when
// nobody is named.
func (c *Clone) Signature(a Author) (object.Signature, error) {
	if a.Name == "" || a.Email == "" {
		if c.author == nil {
			c.author = &Author{}
			c.author.Name, c.author.Email = c.identity()
		}
		a.Name, a.Email = c.author.Name, c.author.Email
	}
	if a.Name == "" || a.Email == "" {
		return object.Signature{}, ErrNoAuthor
	}
	// A commit's header is made of lines, and an address ends in ">".
	if strings.ContainsAny(a.Name+a.Email, "<>\n\x00") {
		return object.Signature{}, fmt.Errorf("the author %q <%q> cannot be written into a commit", a.Name, a.Email)
	}
	return object.Signature{Name: a.Name, Email: a.Email, When: a.When}, nil
}

// Result is what became of a change.
type Result struct {
	Commit plumbing.Hash // zero where there was nothing to do
	Change Change        // as it was accepted
	// Left says why the work tree was left where it was, where that does not follow
	// from what was asked for.
	Left string
}

// Commit commits a change on HEAD: work tree, index and branch follow, or all of
// them stay as they were.
func (c *Clone) Commit(ctx context.Context, by Author, propose Propose) (Result, error) {
	head, err := c.Head()
	if err != nil {
		return Result{}, err
	}
	m, err := c.make(ctx, head.Commit, by, propose)
	if err != nil || m.commit.IsZero() {
		return Result{Change: m.change}, err
	}
	j := &journal{Branch: head.Branch, Base: head.Commit, Commit: m.commit, Who: m.who, What: "commit: " + subject(m.change.Message), Edits: m.edits}
	return Result{Commit: m.commit, Change: m.change}, c.apply(j)
}

// Apply makes a change to the work tree alone, and leaves index and history to
// the caller.
func (c *Clone) Apply(propose Propose) (Result, error) {
	head, err := c.Head()
	if err != nil {
		return Result{}, err
	}
	tree, err := c.Tree(head.Commit)
	if err != nil {
		return Result{}, err
	}
	change, err := propose(tree)
	if err != nil {
		return Result{}, err
	}
	edits, err := c.edits(tree, change)
	if err != nil || len(edits) == 0 {
		return Result{Change: change}, err
	}
	return Result{Change: change}, c.apply(&journal{Branch: head.Branch, Base: head.Commit, Edits: edits})
}

// made is a commit that nothing refers to yet.
type made struct {
	commit plumbing.Hash
	change Change
	edits  []edit
	who    string // for the reflog
}

// make writes the commit of a change on base.
func (c *Clone) make(ctx context.Context, base plumbing.Hash, by Author, propose Propose) (made, error) {
	author, err := c.Signature(by)
	if err != nil {
		return made{}, err
	}
	tree, err := c.Tree(base)
	if err != nil {
		return made{}, err
	}
	change, err := propose(tree)
	if err != nil {
		return made{}, err
	}
	m := made{change: change, who: signatureLine(author)}
	if m.edits, err = c.edits(tree, change); err != nil || len(m.edits) == 0 {
		return m, err
	}
	parent, err := object.GetCommit(c.repository.Storer, base)
	if err != nil {
		return m, fmt.Errorf("read commit %s: %w", base, err)
	}
	root, err := c.writeTree(parent.TreeHash, m.edits)
	if err == nil && root.IsZero() {
		root, err = c.writeObject(plumbing.TreeObject, nil)
	}
	if err != nil {
		return m, err
	}
	commit := &object.Commit{Author: author, Committer: author, Message: change.Message, TreeHash: root, ParentHashes: []plumbing.Hash{base}}
	if by.Sign {
		m.commit, err = c.signedCommit(ctx, commit)
		return m, err
	}
	content, err := encodeCommit(commit)
	if err != nil {
		return m, err
	}
	m.commit, err = c.writeObject(plumbing.CommitObject, content)
	return m, err
}

func encodeCommit(commit *object.Commit) ([]byte, error) {
	encoded := &plumbing.MemoryObject{}
	if err := commit.Encode(encoded); err != nil {
		return nil, fmt.Errorf("write commit: %w", err)
	}
	in, err := encoded.Reader()
	if err != nil {
		return nil, fmt.Errorf("write commit: %w", err)
	}
	return io.ReadAll(in)
}

func subject(message string) string {
	first, _, _ := strings.Cut(message, "\n")
	return first
}
