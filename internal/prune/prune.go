package prune

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/internal/promote/commitmessage"
	"github.com/polex-dev/polex/internal/promote/pending"
	"github.com/polex-dev/polex/pkg/exception"
)

// DefaultSigned is the folder where nothing else is said.
const DefaultSigned = "signed"

// Options say what is looked at.
type Options struct {
	Signed string // folder, from the tree's root; "" means [DefaultSigned]
	Now    time.Time
	// Soon is how long before its end an exception is named; 0 names none.
	Soon time.Duration
	// Terms are the trust policy's: what the expiry of an exception is read by.
	Terms lifetime.Terms
	// DryRun changes nothing.
	DryRun bool
}

// Exception is one that has ended, or that ends soon.
type Exception struct {
	Position  exception.Position
	Identity  exception.Identity
	ExpiresAt time.Time

	logIndex *int64
}

var plain = regexp.MustCompile(`^[A-Za-z0-9./ -]{1,512}$`)

// name is the identity as it stands in a commit's message.
func (e Exception) name() string {
	if name := e.Identity.String(); plain.MatchString(name) {
		return name
	}
	return fmt.Sprintf("%+q", e.Identity.String())
}

// Found is what a tree holds.
type Found struct {
	Ended []Exception
	Soon  []Exception
	// Unreadable are the documents whose end cannot be told. Their files are left
	// as they are.
	Unreadable []*exception.SyntaxError

	write  map[string][]byte
	remove []string
}

// ErrOutside says that a folder is none inside of the repository.
var ErrOutside = errors.New("the folder does not lie inside the repository")

// Look looks for what has ended in a tree. It returns [ErrOutside], or another
// error when the tree cannot be read.
func Look(tree *git.Tree, o Options) (*Found, error) {
	folder := path.Clean(o.Signed)
	if o.Signed == "" {
		folder = DefaultSigned
	}
	if !fs.ValidPath(folder) || folder == "." {
		return nil, fmt.Errorf("%q: %w", o.Signed, ErrOutside)
	}
	found := &Found{write: map[string][]byte{}}
	switch entry, err := tree.Find(folder); {
	case errors.Is(err, fs.ErrNotExist):
		return found, nil
	case err != nil:
		return nil, err
	case entry.Mode != filemode.Dir:
		return nil, fmt.Errorf("%s is not a folder", folder)
	}
	return found, tree.Walk(folder, func(entry git.Entry) error {
		// Whatever else is wrong with its mode or name, what has ended goes.
		if !pending.Signs(pending.File{Path: entry.Path, Mode: uint32(entry.Mode)}) {
			return nil
		}
		if commit.CheckPath(entry.Path) != nil {
			// It must not keep what has ended elsewhere.
			found.Unreadable = append(found.Unreadable, &exception.SyntaxError{Position: exception.Position{File: entry.Path, Line: 1, Column: 1},
				Message: "the path is not UTF-8, or looks like one of Git's own files, and nothing in this file is pruned", Hint: "rename it with git mv, or remove it"})
			return nil //nolint:nilerr // it is among what was found
		}
		content, err := tree.Read(entry)
		if err != nil {
			return err
		}
		return found.file(content, entry.Path, o)
	})
}

// file looks at one file.
func (f *Found) file(content []byte, name string, o Options) error {
	var ended, soon []Exception
	var kept []*exception.Document
	readable := true
	for doc, err := range exception.NewReader(bytes.NewReader(content), name).All() {
		var life lifetime.Lifetime
		if err == nil {
			life, err = lifetime.Of(doc, o.Terms)
			err = atItsPlace(doc, err)
		}
		var bad *exception.SyntaxError
		if errors.As(err, &bad) {
			readable = false
			f.Unreadable = append(f.Unreadable, bad)
			continue
		}
		if err != nil {
			return err
		}
		e := Exception{Position: doc.Position(), Identity: doc.Identity(), ExpiresAt: life.ExpiresAt}
		switch {
		case life.ExpiresAt.IsZero() || o.Now.Add(o.Soon).Before(life.ExpiresAt):
			kept = append(kept, doc)
		case o.Now.Before(life.ExpiresAt):
			kept = append(kept, doc)
			soon = append(soon, e)
		default:
			// A seal that cannot be read has no entry to name.
			if entry, err := commitmessage.LogEntryOf(doc); err == nil && entry != nil {
				e.logIndex = &entry.Index
			}
			ended = append(ended, e)
		}
	}
	f.Soon = append(f.Soon, soon...)
	if len(ended) == 0 || !readable {
		return nil
	}
	f.Ended = append(f.Ended, ended...)
	if len(kept) == 0 {
		f.remove = append(f.remove, name)
		return nil
	}
	content, err := exception.Join(kept)
	f.write[name] = content
	return err
}

// atItsPlace says where a lifetime that cannot be read stands.
func atItsPlace(doc *exception.Document, err error) error {
	var bad *lifetime.Error
	if errors.As(err, &bad) {
		return &exception.SyntaxError{Position: doc.PositionOf(bad.Path), Message: bad.Message, Hint: bad.Hint}
	}
	return err
}

// Change takes away what has ended. It changes nothing where nothing has.
func (f *Found) Change(signedOffBy string) commit.Change {
	if len(f.Ended) == 0 {
		return commit.Change{}
	}
	var b strings.Builder
	if len(f.Ended) == 1 {
		fmt.Fprintf(&b, "Prune %s, which expired\n\n", f.Ended[0].name())
	} else {
		fmt.Fprintf(&b, "Prune %d expired exceptions\n\n", len(f.Ended))
	}
	for _, e := range f.Ended {
		fmt.Fprintf(&b, "%s: expired at %s\n", e.name(), e.ExpiresAt.UTC().Format(time.RFC3339))
	}
	b.WriteString("\n")
	for _, e := range f.Ended {
		fmt.Fprintf(&b, "%s: %s", commitmessage.Pruned, commitmessage.Path(e.Position.File))
		if e.logIndex != nil {
			fmt.Fprintf(&b, " %d", *e.logIndex)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "Signed-off-by: %s\n", signedOffBy)
	return commit.Change{Write: f.write, Remove: f.remove, Message: b.String()}
}
