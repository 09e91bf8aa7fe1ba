package promote

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/polex-dev/polex/pkg/exception"
)

// Commit says how a promotion is committed.
type Commit struct {
	// Name and Email of author and committer; empty ones are taken from the
	// repository's configuration.
	Name, Email string
	When        time.Time
	// Trailers stand at the end of the message, "Key: value", in this order.
	Trailers []string
}

// Move is one file that was promoted.
type Move struct {
	From, To  string
	Documents []*exception.Document // sealed
}

// ErrNoAuthor says that neither the caller nor Git knows who commits.
var ErrNoAuthor = errors.New("nobody is named as the author of the commit")

// CheckAuthor returns [ErrNoAuthor] when c names nobody and Git does not either,
// so that this is known before anything is signed.
func (q *Queue) CheckAuthor(c Commit) error {
	_, err := q.author(c)
	return err
}

// Apply writes the sealed documents, one for each of [Queue.Documents] in the
// same order, under signed/, takes the unsigned files away, and, unless commit
// is nil, commits both as one. It returns the commit's hash. A repository that
// is no longer as [Open] read it is an error. Until every sealed file is on disk
// and reads back as it should, nothing is taken away; when a later step fails,
// work tree and index are put back as they were.
func (q *Queue) Apply(sealed []*exception.Document, commit *Commit) (applied []Move, hash string, err error) {
	moves, err := q.moves(sealed)
	if err != nil {
		return nil, "", err
	}
	// Signing took its time, and whatever happened to the repository meanwhile
	// would become part of the commit.
	if err := q.checkUnmoved(); err != nil {
		return nil, "", err
	}
	index, err := q.repository.Storer.Index()
	if err != nil {
		return nil, "", fmt.Errorf("read index: %w", err)
	}
	worktree, err := q.repository.Worktree()
	if err != nil {
		return nil, "", fmt.Errorf("open work tree: %w", err)
	}
	root, err := os.OpenRoot(worktree.Filesystem.Root())
	if err != nil {
		return nil, "", fmt.Errorf("open work tree: %w", err)
	}
	defer root.Close() //nolint:errcheck // only a handle

	var written []string
	defer func() {
		if err != nil {
			err = errors.Join(err, q.undo(root, moves, written))
			if commit != nil {
				err = errors.Join(err, q.repository.Storer.SetIndex(index))
			}
		}
	}()
	for _, m := range moves {
		if err := writeDurably(root, m.To, text(m.Documents)); err != nil {
			return nil, "", err
		}
		written = append(written, m.To)
	}
	if commit == nil {
		for _, m := range moves {
			if err := root.Remove(m.From); err != nil {
				return nil, "", fmt.Errorf("remove %s: %w", m.From, err)
			}
		}
		return moves, "", nil
	}
	if hash, err = q.commitMoves(worktree, moves, *commit); err != nil {
		return nil, "", err
	}
	return moves, hash, nil
}

// checkUnmoved refuses a repository in which HEAD or the work tree are others
// than those that the queue was read from.
func (q *Queue) checkUnmoved() error {
	head, err := q.repository.Head()
	if err != nil {
		return fmt.Errorf("read HEAD: %w", err)
	}
	if head.Hash() != q.head.Hash() || head.Name() != q.head.Name() {
		return fmt.Errorf("HEAD was %s at %s when the queue was read, and is %s at %s now: run it again",
			q.head.Name().Short(), q.head.Hash(), head.Name().Short(), head.Hash())
	}
	return q.checkClean()
}

// undo takes away what was written and puts back what was taken away, from the
// commit that it was read from.
func (q *Queue) undo(root *os.Root, moves []Move, written []string) error {
	var errs []error
	for _, m := range moves {
		if _, err := root.Lstat(m.From); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var content []byte
		entry, err := q.tree.Find(m.From)
		if err == nil {
			content, err = q.tree.Read(entry)
		}
		if err == nil {
			err = writeDurably(root, m.From, content)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("restore %s: %w", m.From, err))
		}
	}
	for _, name := range written {
		if err := root.Remove(name); err != nil {
			errs = append(errs, fmt.Errorf("remove %s again: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func (q *Queue) moves(sealed []*exception.Document) ([]Move, error) {
	var moves []Move
	next := 0
	for _, f := range q.files {
		if next+len(f.documents) > len(sealed) {
			return nil, fmt.Errorf("%d documents were signed of %d", len(sealed), len(q.Documents()))
		}
		m := Move{From: f.from, To: f.to, Documents: sealed[next : next+len(f.documents)]}
		for i, doc := range m.Documents {
			if doc.Identity() != f.documents[i].Identity() {
				return nil, fmt.Errorf("%s was signed where %s was asked for", doc.Identity(), f.documents[i].Identity())
			}
		}
		moves = append(moves, m)
		next += len(f.documents)
	}
	if next != len(sealed) {
		return nil, fmt.Errorf("%d documents were signed of %d", len(sealed), next)
	}
	return moves, nil
}

func text(docs []*exception.Document) []byte {
	var b bytes.Buffer
	for _, doc := range docs {
		b.Write(doc.Source())
		if !bytes.HasSuffix(b.Bytes(), []byte("\n")) {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// writeDurably writes a file that must not exist yet, and reads it back. The
// folders on its way are real ones: a link could lead it to a workflow.
func writeDurably(root *os.Root, name string, content []byte) error {
	if err := makeFolders(root, path.Dir(name)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	temporary := path.Join(path.Dir(name), ".polex-"+path.Base(name)+".tmp")
	_ = root.Remove(temporary) // of a run that was cut off
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		if _, exists := root.Lstat(name); !errors.Is(exists, fs.ErrNotExist) {
			err = fs.ErrExist
		}
	}
	if err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		_ = root.Remove(temporary)
		return fmt.Errorf("write %s: %w", name, err)
	}
	back, err := root.ReadFile(name)
	if err != nil || !bytes.Equal(back, content) {
		return fmt.Errorf("write %s: it does not read back as it was written: %w", name, errors.Join(err, fs.ErrInvalid))
	}
	return nil
}

func makeFolders(root *os.Root, dir string) error {
	made := ""
	for _, part := range strings.Split(dir, "/") {
		made = path.Join(made, part)
		info, err := root.Lstat(made)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := root.Mkdir(made, 0o755); err != nil {
				return err
			}
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is not a folder", made)
		}
	}
	return nil
}

func (q *Queue) commitMoves(worktree *git.Worktree, moves []Move, c Commit) (string, error) {
	author, err := q.author(c)
	if err != nil {
		return "", err
	}
	for _, m := range moves {
		if err := worktree.AddWithOptions(&git.AddOptions{Path: m.To, SkipStatus: true}); err != nil {
			return "", fmt.Errorf("stage %s: %w", m.To, err)
		}
	}
	for _, m := range moves {
		if _, err := worktree.Remove(m.From); err != nil {
			return "", fmt.Errorf("stage the removal of %s: %w", m.From, err)
		}
	}
	hash, err := worktree.Commit(q.commitMessage(moves, c, author), &git.CommitOptions{Author: author, Committer: author})
	if err != nil {
		return "", fmt.Errorf("commit: %w", err)
	}
	return hash.String(), nil
}

func (q *Queue) author(c Commit) (*object.Signature, error) {
	if c.Name == "" || c.Email == "" {
		cfg, err := q.repository.ConfigScoped(config.GlobalScope)
		if err != nil {
			return nil, fmt.Errorf("read Git configuration: %w", err)
		}
		c.Name, c.Email = cfg.User.Name, cfg.User.Email
	}
	if c.Name == "" || c.Email == "" {
		return nil, ErrNoAuthor
	}
	// A commit's header is made of lines, and an address ends in ">".
	if strings.ContainsAny(c.Name+c.Email, "<>\n\x00") {
		return nil, fmt.Errorf("the author %q <%q> cannot be written into a commit", c.Name, c.Email)
	}
	return &object.Signature{Name: c.Name, Email: c.Email, When: c.When}, nil
}

func (q *Queue) commitMessage(moves []Move, c Commit, author *object.Signature) string {
	var b strings.Builder
	switch documents := len(q.Documents()); documents {
	case 1:
		fmt.Fprintf(&b, "Sign %s\n\n", q.Documents()[0].Identity())
	default:
		fmt.Fprintf(&b, "Sign %d exceptions\n\n", documents)
	}
	for _, m := range moves {
		fmt.Fprintf(&b, "%s -> %s\n", m.From, m.To)
	}
	fmt.Fprintf(&b, "\nPolex-Source-Commit: %s\n", q.Source())
	for _, trailer := range c.Trailers {
		b.WriteString(trailer + "\n")
	}
	fmt.Fprintf(&b, "Signed-off-by: %s <%s>\n", author.Name, author.Email)
	return b.String()
}
