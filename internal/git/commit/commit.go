package commit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/internal/git"
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
func (c *Clone) Signature(a Author) (git.Stamp, error) {
	if a.Name == "" || a.Email == "" {
		if c.author == nil {
			c.author = &Author{}
			c.author.Name, c.author.Email = c.identity()
		}
		a.Name, a.Email = c.author.Name, c.author.Email
	}
	if a.Name == "" || a.Email == "" {
		return git.Stamp{}, ErrNoAuthor
	}
	// A commit's header is made of lines, and an address ends in ">".
	if strings.ContainsAny(a.Name+a.Email, "<>\n\x00") {
		return git.Stamp{}, fmt.Errorf("the author %q <%q> cannot be written into a commit", a.Name, a.Email)
	}
	return git.Stamp{Name: a.Name, Email: a.Email, When: a.When}, nil
}

// identity is the author of a commit as Git would name it, or "" where nothing says it:
// the environment, the configuration and what it includes.
func (c *Clone) identity() (name, email string) {
	line, err := c.ask(call{}, "-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT")
	if err != nil {
		return "", ""
	}
	name, rest, _ := strings.Cut(line, " <")
	email, _, _ = strings.Cut(rest, ">")
	return name, email
}

// SignsCommits reports whether Git would sign every commit (commit.gpgSign).
func (c *Clone) SignsCommits() bool { return c.is(true, "commit.gpgSign") }

// Result is what became of a change.
type Result struct {
	Commit plumbing.Hash // zero where there was nothing to do
	Change Change        // as it was accepted
	// Left says why the work tree was left where it was, where that does not follow
	// from what was asked for.
	Left string
}

// nobody is the author of a commit that no branch gets.
var nobody = Author{Name: "polex", Email: "polex", When: time.Unix(0, 0)}

// Commit commits a change on HEAD: work tree, index and branch follow, or all of
// them stay as they were.
func (c *Clone) Commit(ctx context.Context, by Author, propose Propose) (Result, error) {
	return c.onHead(ctx, by, propose, c.apply)
}

// Apply makes a change to the work tree alone, and leaves index and history to
// the caller.
func (c *Clone) Apply(propose Propose) (Result, error) {
	result, err := c.onHead(context.Background(), nobody, propose, func(j *journal) error {
		j.filesOnly = true
		return c.apply(j)
	})
	result.Commit = plumbing.ZeroHash
	return result, err
}

// Rehearse returns the error that [Clone.Commit] or [Clone.Apply] would return because of what
// is there now. It writes objects that nothing refers to, and changes nothing.
func (c *Clone) Rehearse(ctx context.Context, propose Propose) error {
	_, err := c.onHead(ctx, nobody, propose, func(j *journal) error {
		return c.locked(func() error {
			_, err := c.prepare(j)
			return err
		})
	})
	return err
}

func (c *Clone) onHead(ctx context.Context, by Author, propose Propose, end func(*journal) error) (Result, error) {
	head, err := c.Head()
	if err != nil {
		return Result{}, err
	}
	m, err := c.make(ctx, head.Commit, by, propose)
	if err != nil || m.commit.IsZero() {
		return Result{Change: m.change}, err
	}
	subject, _, _ := strings.Cut(m.change.Message, "\n")
	return Result{Commit: m.commit, Change: m.change}, end(&journal{head: head, commit: m.commit, by: m.by, what: "commit: " + subject})
}

// made is a commit that nothing refers to yet.
type made struct {
	commit plumbing.Hash
	change Change
	by     git.Stamp
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
	m := made{change: change, by: author}
	left, err := effect(tree, change)
	if err != nil || left.empty() {
		return m, err
	}
	o := object{parents: []plumbing.Hash{base}, by: author, change: left}
	if m.commit, err = c.writeCommit(ctx, "write the commit", o); err == nil && by.Sign {
		m.commit, err = c.signed(ctx, m.commit, o)
	}
	return m, err
}

// signed has Git write a commit once more, with the signature that its configuration asks
// for.
func (c *Clone) signed(ctx context.Context, plain plumbing.Hash, o object) (plumbing.Hash, error) {
	var said string
	// It is not told of the lock: a daemon that the signing program starts, such as gpg-agent,
	// would hold it. It writes one object, and nothing comes of that after this run has ended.
	if err := c.do("sign the commit", func() (err error) {
		said, err = c.git(ctx, call{input: strings.NewReader(o.change.Message), env: named(o.by)},
			"-c", "i18n.commitEncoding=UTF-8", "commit-tree", "-S", "-F", "-", "-p", o.parents[0].String(), plain.String()+"^{tree}")
		return err
	}); err != nil {
		return plumbing.ZeroHash, fmt.Errorf("%w (commit.gpgSign or --sign-commit asks for it, by gpg.format and user.signingKey)", err)
	}
	hash := plumbing.NewHash(strings.TrimSpace(said))
	if err := c.holds(hash, o); err != nil {
		return hash, fmt.Errorf("read the signed commit: %w", err)
	}
	if hash == plain {
		return hash, errors.New("git commit-tree -S has not signed the commit")
	}
	return hash, nil
}

// MadeHere reports whether a commit was made in this clone, on the branch that is checked
// out: by its reflog, which nothing that is fetched can write to.
func (c *Clone) MadeHere(commit plumbing.Hash) (bool, error) {
	head, err := c.Head()
	if err != nil {
		return false, err
	}
	said, err := c.ask(call{}, "log", "--walk-reflogs", "--format=%H %gs", head.Branch.String(), "--")
	if err != nil {
		return false, err
	}
	return strings.Contains("\n"+said, "\n"+commit.String()+" commit: "), nil
}
