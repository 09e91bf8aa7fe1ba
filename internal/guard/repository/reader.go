package repository

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// Default limits of a [Reader] for one commit, in addition to those of internal/git.
const (
	DefaultMaxBytes    = 1 << 30 // a signed exception and its message have 16 KiB
	DefaultMaxMessages = 100_000
)

// Reader reads the messages of a repository.
type Reader struct {
	Dir      string   // folder of the repository, for [git.Open]
	Revision string   // for [git.Repository.Resolve]
	Paths    []string // files and folders in the commit, for [git.Tree.Find]

	// MaxBytes limits the total size of the files and their messages. MaxMessages limits the signed
	// documents. 0 is the default.
	MaxBytes, MaxMessages int
}

// Read implements [guard.ReadCommit].
func (r Reader) Read(ctx context.Context, state string) (*guard.Commit, error) {
	repository, err := git.Open(r.Dir)
	if err != nil {
		return nil, err
	}
	defer repository.Close() //nolint:errcheck // only read
	hash, err := repository.Resolve(r.Revision)
	if err != nil {
		return nil, err
	}
	tree, err := repository.Tree(hash)
	if err != nil {
		return nil, err
	}
	now, err := r.state(tree)
	if err != nil || now == state {
		return nil, err
	}
	c := &collector{ctx: ctx, tree: tree, messages: map[string]bool{}, met: map[string]bool{},
		bytes: cmp.Or(r.MaxBytes, DefaultMaxBytes), sealed: cmp.Or(r.MaxMessages, DefaultMaxMessages)}
	for _, path := range r.Paths {
		if err := tree.Documents(path, exception.HoldsDocuments, c.entry); err != nil {
			return nil, fmt.Errorf("commit %s: %w", hash, err)
		}
	}
	return &guard.Commit{Hash: hash.String(), State: now, Messages: c.messages}, nil
}

// state identifies the content of the paths by their object hashes. A missing path is an error:
// with a wrong path, every exception would be unknown to Git.
func (r Reader) state(tree *git.Tree) (string, error) {
	var state strings.Builder
	for _, path := range r.Paths {
		entry, err := tree.Find(path)
		if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("commit %s has no %q; to hold no exception, it has to hold that folder with another file in it", tree.Commit(), path)
		}
		if err != nil {
			return "", fmt.Errorf("commit %s: %w", tree.Commit(), err)
		}
		fmt.Fprintf(&state, "%s %s\n", entry.Hash(), path)
	}
	return state.String(), nil
}

// collector collects the messages of a tree.
type collector struct {
	ctx      context.Context
	tree     *git.Tree
	messages map[string]bool
	met      map[string]bool // the files that were read
	bytes    int             // remaining bytes
	sealed   int             // remaining signed documents
}

// entry reads one file. It rejects the same files as polex-verify --git.
func (c *collector) entry(e git.Entry, problem string) error {
	if problem != "" {
		return fmt.Errorf("%q %s, and only regular files (mode 100644) are read", e.Path, problem)
	}
	if c.met[e.Hash().String()] {
		return c.ctx.Err() // its messages are known
	}
	c.met[e.Hash().String()] = true
	content, err := c.tree.Read(e)
	if err != nil {
		return err
	}
	if err := c.weigh(len(content)); err != nil {
		return err
	}
	for doc, err := range exception.NewReader(bytes.NewReader(content), e.Path).All() {
		if err == nil {
			err = c.document(doc)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", e.Path, err)
		}
	}
	return c.ctx.Err()
}

// document adds the message of a signed document and ignores an unsigned one.
func (c *collector) document(doc *exception.Document) error {
	sealed, err := seal.Read(doc)
	if errors.Is(err, seal.ErrUnsigned) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("line %d: its signature annotations cannot be read: %w", doc.Position().Line, err)
	}
	if c.sealed--; c.sealed < 0 {
		return errors.New("there are more sealed documents than are read")
	}
	digest := sha256.Sum256(sealed.Message)
	c.messages["sha256:"+hex.EncodeToString(digest[:])] = true
	return c.weigh(len(sealed.Message))
}

func (c *collector) weigh(n int) error {
	if c.bytes -= n; c.bytes < 0 {
		return errors.New("there are more bytes than are read")
	}
	return nil
}
