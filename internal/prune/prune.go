package prune

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/internal/promotion/commitmessage"
	"github.com/polex-dev/polex/internal/promotion/deliver"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/internal/usage"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/seal"
)

// DefaultSigned is the default folder.
const DefaultSigned = "signed"

// Options are the inputs of a run.
type Options struct {
	Signed string // folder, relative to the tree's root; "" means [DefaultSigned]
	Now    time.Time
	// Soon is the time before the expiry in which an exception is reported; 0 disables the report.
	Soon time.Duration
	// Terms are the rules of the trust policy for reading an expiry.
	Terms lifetime.Terms
	// Unused are exceptions to remove too, or nil. Each has to have the signed message of the report.
	Unused *usage.Audit
}

// Exception is an exception that is expired or expires soon.
type Exception struct {
	Position  exception.Position
	Identity  exception.Identity
	ExpiresAt time.Time
	// Usage says why an exception is removed that has not expired. It is nil for the others.
	Usage *usage.Usage

	trailer string // of the commit
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9./ -]{1,512}$`)

// name returns the identity in the form for a commit message.
func (e Exception) name() string {
	if name := e.Identity.String(); plainName.MatchString(name) {
		return name
	}
	return fmt.Sprintf("%+q", e.Identity.String())
}

// Found is the result for a tree.
type Found struct {
	Ended []Exception
	Soon  []Exception
	// Unreadable are the documents without a readable expiry. Their files stay unchanged.
	Unreadable []*exception.SyntaxError

	// Proposed means that a branch with this removal exists already.
	Proposed bool

	write  map[string][]byte
	remove []string
}

// ErrOutside means that the folder is not inside the repository.
var ErrOutside = errors.New("the folder is outside of the repository")

// Look finds the expired exceptions in a tree. It returns [ErrOutside], or another error if the
// tree cannot be read.
func Look(tree *git.Tree, o Options) (*Found, error) {
	folder := path.Clean(o.Signed)
	if o.Signed == "" {
		folder = DefaultSigned
	}
	if !fs.ValidPath(folder) || folder == "." {
		return nil, fmt.Errorf("%q: %w", o.Signed, ErrOutside)
	}
	found := &Found{write: map[string][]byte{}}
	return found, tree.WalkFolder(folder, func(entry git.Entry) error {
		// Prune files of any regular mode, even if promotion would reject their names.
		deep := entry.Mode == git.Dir
		if !deep && !pending.Signs(pending.File{Path: entry.Path, Mode: uint32(entry.Mode)}) {
			return nil
		}
		// Report these files. They must not prevent pruning of the other files.
		if deep || commit.CheckPath(entry.Path) != nil {
			found.unreadable(entry, "the path is not UTF-8, too long or too deep, or looks like one of Git's own "+
				"files, and nothing there is pruned")
			return nil //nolint:nilerr // it is reported
		}
		content, err := tree.Read(entry)
		if errors.Is(err, git.ErrTooLarge) {
			found.unreadable(entry, fmt.Sprintf("the file is larger than %d MiB, and nothing in it is pruned",
				git.MaxFile>>20))
			return nil
		}
		if err != nil {
			return err
		}
		return found.file(content, entry.Path, o)
	})
}

// unreadable adds a file or folder that is not pruned.
func (f *Found) unreadable(entry git.Entry, message string) {
	f.Unreadable = append(f.Unreadable,
		&exception.SyntaxError{Position: exception.Position{File: entry.Path, Line: 1, Column: 1},
			Message: message, Hint: "rename it with git mv, split it, or remove it"})
}

// file examines one file.
func (f *Found) file(content []byte, name string, o Options) error {
	var ended, soon []Exception
	var kept []*exception.Document
	readable := true
	for doc, err := range exception.NewReader(bytes.NewReader(content), name).All() {
		var life lifetime.Lifetime
		if err == nil {
			life, err = lifetime.Of(doc, o.Terms)
		}
		if wrong := (*lifetime.Error)(nil); errors.As(err, &wrong) {
			err = &exception.SyntaxError{Position: doc.PositionOf(wrong.Path), Message: wrong.Message, Hint: wrong.Hint}
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
		ends := !life.ExpiresAt.IsZero()
		expired := ends && !o.Now.Before(life.ExpiresAt)
		if !expired {
			e.Usage = o.unused(doc)
		}
		if expired || e.Usage != nil {
			e.trailer = commitmessage.Files(commitmessage.Pruned, name, doc)
			ended = append(ended, e)
			continue
		}
		kept = append(kept, doc)
		if ends && !o.Now.Add(o.Soon).Before(life.ExpiresAt) {
			soon = append(soon, e)
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

// unused returns what the report says about an unused exception, or nil.
func (o Options) unused(doc *exception.Document) *usage.Usage {
	if o.Unused == nil {
		return nil
	}
	signed, err := seal.Read(doc)
	if err != nil {
		return nil // it is not what the report is about
	}
	return o.Unused.Unused(doc.Identity(), fmt.Sprintf("sha256:%x", sha256.Sum256(signed.Message)))
}

// why says why an exception is removed.
func (e Exception) why() string {
	if e.Usage != nil {
		return string(e.Usage.State) + ": " + plain.Line(e.Usage.Text())
	}
	return "expired at " + e.ExpiresAt.UTC().Format(time.RFC3339)
}

// Change returns the change that removes the expired and unused exceptions. It is empty if there are none.
func (f *Found) Change(signedOffBy string) commit.Change {
	if len(f.Ended) == 0 {
		return commit.Change{}
	}
	var b strings.Builder
	unused := 0
	for _, e := range f.Ended {
		if e.Usage != nil {
			unused++
		}
	}
	switch expired := len(f.Ended) - unused; {
	case unused > 0 && expired > 0:
		fmt.Fprintf(&b, "Prune %d expired and %d unused exceptions\n\n", expired, unused)
	case unused > 1:
		fmt.Fprintf(&b, "Prune %d unused exceptions\n\n", unused)
	case unused > 0:
		fmt.Fprintf(&b, "Prune %s, which is %s\n\n", f.Ended[0].name(), f.Ended[0].Usage.State)
	case expired == 1:
		fmt.Fprintf(&b, "Prune %s, which expired\n\n", f.Ended[0].name())
	default:
		fmt.Fprintf(&b, "Prune %d expired exceptions\n\n", expired)
	}
	for _, e := range f.Ended {
		fmt.Fprintf(&b, "%s: %s\n", e.name(), e.why())
	}
	b.WriteString("\n")
	for _, e := range f.Ended {
		b.WriteString(e.trailer)
	}
	fmt.Fprintf(&b, "Signed-off-by: %s\n", signedOffBy)
	return commit.Change{Write: f.write, Remove: f.remove, Message: b.String()}
}

// Run removes the expired exceptions and delivers the change. It returns the exceptions that it
// found in the changed tree, and the destination with the branch of the pull request. A plan only examines
// HEAD.
func Run(ctx context.Context, clone *commit.Clone, o Options,
	to deliver.To) (_ deliver.To, found *Found, result commit.Result, err error) {
	if to.Way == deliver.Plan {
		head, err := clone.Head()
		if err == nil {
			found, err = lookAt(clone, head.Commit, o)
		}
		return to, found, result, err
	}
	if to.Way == deliver.PullRequest {
		if to, found, err = toBranch(ctx, clone, o, to); err != nil || found.Proposed || len(found.Ended) == 0 {
			return to, found, result, err
		}
	}
	result, err = to.Make(ctx, clone, func(signedOffBy string) commit.Propose {
		return func(tree *git.Tree) (commit.Change, error) {
			if found, err = Look(tree, o); err != nil {
				return commit.Change{}, err
			}
			return found.Change(signedOffBy), nil
		}
	})
	return to, found, result, err
}

func lookAt(clone *commit.Clone, at git.Hash, o Options) (*Found, error) {
	tree, err := clone.Tree(at)
	if err != nil {
		return nil, err
	}
	return Look(tree, o)
}

// branchPrefix begins the names of branches for pull requests. 12 digits of a digest of the removed
// documents follow, so that two removals never share a branch.
const branchPrefix = "polex/pruned-"

// toBranch names the branch for the pull request, if there is a removal to propose.
func toBranch(ctx context.Context, clone *commit.Clone, o Options, to deliver.To) (deliver.To, *Found, error) {
	tip, err := clone.Fetch(ctx, to.Push.To)
	if err != nil {
		return to, nil, err
	}
	found, err := lookAt(clone, tip, o)
	if err != nil || len(found.Ended) == 0 {
		return to, found, err
	}
	sum := sha256.New()
	for _, e := range found.Ended {
		_, _ = io.WriteString(sum, e.name()+e.trailer)
	}
	to.Push.As = branchPrefix + hex.EncodeToString(sum.Sum(nil))[:12]
	_, found.Proposed, err = clone.Ask(ctx, to.Remote())
	return to, found, err
}
