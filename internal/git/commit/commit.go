package commit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/git"
)

// Author is the author and committer of a commit.
type Author struct {
	// Name and Email must both be set. Otherwise Git's identity applies (git var GIT_AUTHOR_IDENT).
	Name, Email string
	When        time.Time
	// Sign makes Git sign the commit with its configuration (gpg.format, user.signingKey).
	Sign bool
}

// ErrNoAuthor means that neither the caller nor Git provides an author.
var ErrNoAuthor = errors.New("the commit has no author")

// Signature returns the author in the form that Git writes. Without an author it returns
// [ErrNoAuthor].
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
	// The header of a commit consists of lines, and ">" ends an address.
	if strings.ContainsAny(a.Name+a.Email, "<>\n\x00") {
		return git.Stamp{}, fmt.Errorf("the author %q <%q> cannot be written into a commit", a.Name, a.Email)
	}
	return git.Stamp{Name: a.Name, Email: a.Email, When: a.When}, nil
}

// identity returns Git's author from the environment and the configuration, or "" if none is set.
func (c *Clone) identity() (name, email string) {
	line, err := c.ask(git.Call{}, "-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT")
	if err != nil {
		return "", ""
	}
	name, rest, _ := strings.Cut(line, " <")
	email, _, _ = strings.Cut(rest, ">")
	return name, email
}

// SignsCommits reports whether Git signs every commit (commit.gpgSign).
func (c *Clone) SignsCommits() (bool, error) {
	value, err := c.setting("--type=bool", "commit.gpgSign")
	return value == "true", err
}

// Result is the result of a change.
type Result struct {
	Commit git.Hash // zero if there was nothing to do
	// Left explains why the work tree was not updated, or names a branch that could not be deleted.
	Left string
}

// nobody is the author of a commit that no branch contains.
var nobody = Author{Name: "polex", Email: "polex", When: time.Unix(0, 0)}

// ErrDetached means that HEAD is on no branch, so that nobody would find a commit on it.
var ErrDetached = errors.New("HEAD is detached: a commit on it would be on no branch")

// Commit commits a change on the branch of the work tree. If the branch moves meanwhile, the change
// is proposed again. An error means that the branch does not have the commit. Then the work tree
// follows, and if it cannot, [Result.Left] says why.
func (c *Clone) Commit(ctx context.Context, by Author, propose Propose) (Result, error) {
	var branch git.ReferenceName
	for attempt := 1; ; attempt++ {
		var left string
		result, err := c.onHead(ctx, by, propose, func(head git.Head, m made) (err error) {
			if head.Branch == git.HEAD {
				return ErrDetached
			}
			if branch = cmp.Or(branch, head.Branch); head.Branch != branch {
				return ErrMoved
			}
			subject, _, _ := strings.Cut(m.change.Message, "\n")
			left, err = c.move(head, m.commit, m.by, "commit: "+subject)
			return err
		})
		result.Left = left
		if !errors.Is(err, ErrMoved) || attempt == attempts {
			return result, err
		}
	}
}

// Rehearse returns the error that [Clone.Commit] would return in the present state. It writes
// objects that no reference uses, and changes nothing else. Git locks the branch and frees it.
func (c *Clone) Rehearse(ctx context.Context, propose Propose) error {
	_, err := c.onHead(ctx, nobody, propose, func(head git.Head, m made) error {
		if head.Branch == git.HEAD {
			return ErrDetached
		}
		if _, _, err := c.ready(head.Commit, head.Commit, m.commit); err != nil {
			return err
		}
		return c.updateReferences("lock "+head.Branch.String(), git.Call{},
			"start\n"+transaction(head, head.Commit, m.commit)+"prepare\nabort\n")
	})
	return err
}

// Apply changes only the work tree and leaves index and history to the caller.
func (c *Clone) Apply(propose Propose) (Result, error) {
	result, err := c.onHead(context.Background(), nobody, propose, func(head git.Head, m made) error {
		paths, index, err := c.ready(head.Commit, head.Commit, m.commit)
		if err != nil {
			return err
		}
		return c.restoreFrom(m.commit, paths, index, "--source="+m.commit.String())
	})
	result.Commit = git.ZeroHash
	return result, err
}

func (c *Clone) onHead(ctx context.Context, by Author, propose Propose,
	end func(git.Head, made) error) (Result, error) {
	head, err := c.Head()
	if err != nil {
		return Result{}, err
	}
	m, err := c.make(ctx, head.Commit, by, propose)
	if err != nil || m.commit.IsZero() {
		return Result{}, err
	}
	return Result{Commit: m.commit}, end(head, m)
}

// made is a commit that no reference contains yet.
type made struct {
	commit git.Hash
	change Change
	left   Change // what the base does not contain yet
	by     git.Stamp
}

// make writes the commit of a change on base.
func (c *Clone) make(ctx context.Context, base git.Hash, by Author, propose Propose) (made, error) {
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
	if m.left, err = effect(tree, change); err != nil || len(m.left.Write)+len(m.left.Remove) == 0 {
		return m, err
	}
	o := object{parent: base, by: author, change: m.left}
	if m.commit, err = c.writeCommit(ctx, "write the commit", o); err == nil && by.Sign {
		m.commit, err = c.signed(ctx, m.commit, o)
	}
	return m, err
}

// signed writes a commit again with Git's signature.
func (c *Clone) signed(ctx context.Context, plain git.Hash, o object) (git.Hash, error) {
	out, err := c.write(ctx, "sign the commit", git.Call{Input: strings.NewReader(o.change.Message), Env: named(o.by)},
		"-c", "i18n.commitEncoding=UTF-8", "commit-tree", "-S", "-F", "-", "-p", o.parent.String(),
		plain.String()+"^{tree}")
	if err != nil {
		return git.ZeroHash, fmt.Errorf("%w (commit.gpgSign requires it; the key is from gpg.format and "+
			"user.signingKey)", err)
	}
	hash := git.NewHash(strings.TrimSpace(out))
	if err := c.holds(hash, o); err != nil {
		return hash, fmt.Errorf("read the signed commit: %w", err)
	}
	if hash == plain {
		return hash, errors.New("git commit-tree -S has not signed the commit")
	}
	return hash, nil
}
