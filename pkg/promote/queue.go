package promote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/gitchange"
	"github.com/polex-dev/polex/pkg/gittree"
)

// The reasons for which a queue is not promoted.
const (
	ReasonBadName        = "bad-file-name"
	ReasonNotRegular     = "not-a-regular-file"
	ReasonMalformed      = "malformed"
	ReasonNoDocuments    = "no-documents"
	ReasonTargetExists   = "target-exists"
	ReasonAlreadySigned  = "already-signed"
	ReasonPartlyReplaced = "partly-replaced"
	ReasonNotARenewal    = "not-a-renewal"
)

// DefaultUnsigned and DefaultSigned are the folders when nothing else is said.
const (
	DefaultUnsigned = "unsigned"
	DefaultSigned   = "signed"
)

// Options say what is promoted. The zero value is the strictest.
type Options struct {
	Unsigned string // relative to the work tree's root, with slashes
	Signed   string
	// Source is the commit that unsigned/ is read from: HEAD, a whole hash, or the
	// name of a branch or a tag. "" means HEAD.
	Source string
	// Replace has a request for an exception that is signed already take its place.
	// Otherwise it is refused.
	Replace bool
}

// Queue is what waits under unsigned/ at one commit, its source.
type Queue struct {
	clone   *gitchange.Clone
	options Options
	head    gitchange.Head
	source  plumbing.Hash
	// committedAt is when the source was made, as it says.
	committedAt time.Time
	tree        *gittree.Tree
	files       []*file
	// signed are the exceptions in signed files, by the name of the file's content,
	// so that none is parsed again when the remote has moved.
	signed map[plumbing.Hash][]exception.Identity
}

// file is one file of the queue.
type file struct {
	from, to  string // paths from the work tree's root
	blob      plumbing.Hash
	documents []*exception.Document
	origin    *gitchange.Origin // nil where history does not go back to it
}

// Open reads the queue of a clone. It returns [exception.Refusals] when a file in
// it cannot be promoted, a *[gittree.RevisionError] for a source that no
// repository could have, and another error when the repository cannot be read or
// its work tree is not clean below the two folders.
func Open(clone *gitchange.Clone, o Options) (*Queue, error) {
	if err := checkFolders(&o); err != nil {
		return nil, err
	}
	if o.Source == "" {
		o.Source = "HEAD"
	}
	source, err := clone.Resolve(o.Source)
	if err != nil {
		return nil, err
	}
	q := &Queue{clone: clone, options: o, source: source, signed: map[plumbing.Hash][]exception.Identity{}}
	if q.head, err = clone.Head(); err != nil {
		return nil, err
	}
	if q.committedAt, err = clone.CommittedAt(source); err != nil {
		return nil, err
	}
	if q.tree, err = clone.Tree(source); err != nil {
		return nil, err
	}
	if err := q.checkClean(); err != nil {
		return nil, err
	}
	if err := q.read(); err != nil {
		return nil, err
	}
	return q, q.findOrigins()
}

func checkFolders(o *Options) error {
	if o.Unsigned == "" {
		o.Unsigned = DefaultUnsigned
	}
	if o.Signed == "" {
		o.Signed = DefaultSigned
	}
	for _, dir := range []*string{&o.Unsigned, &o.Signed} {
		clean := path.Clean(*dir)
		if !fs.ValidPath(clean) || clean == "." || strings.EqualFold(clean, ".git") || strings.HasPrefix(strings.ToLower(clean), ".git/") {
			return fmt.Errorf("folder %q does not lie inside the repository", *dir)
		}
		*dir = clean
	}
	if o.Unsigned == o.Signed || strings.HasPrefix(o.Unsigned+"/", o.Signed+"/") || strings.HasPrefix(o.Signed+"/", o.Unsigned+"/") {
		return fmt.Errorf("the folders %q and %q lie in each other", o.Unsigned, o.Signed)
	}
	return nil
}

// checkClean refuses a work tree in which either folder differs from HEAD: what
// was not committed was not reviewed. Nor may anything be staged elsewhere, for
// nobody could tell what a commit was to take along.
func (q *Queue) checkClean() error {
	dirty, err := q.clone.Dirty(q.options.Unsigned, q.options.Signed)
	if err != nil || len(dirty) == 0 {
		return err
	}
	return fmt.Errorf("the work tree differs from the commit: %q: commit the changes or undo them", dirty[0])
}

// checkUnmoved refuses a clone that is no longer as it was when the queue was
// read: signing takes its time.
func (q *Queue) checkUnmoved() error {
	head, err := q.clone.Head()
	if err != nil {
		return err
	}
	if head != q.head {
		return fmt.Errorf("%w (it was %s at %s when the queue was read)", gitchange.ErrMoved, q.head.Branch, q.head.Commit)
	}
	return q.checkClean()
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

func (q *Queue) read() error {
	var refusals exception.Refusals
	err := walk(q.tree, q.options.Unsigned, func(entry gittree.Entry) error {
		if base := path.Base(entry.Path); strings.HasPrefix(base, ".git") || strings.EqualFold(path.Ext(base), ".md") {
			return nil // .gitkeep, README.md
		}
		f, problems, err := q.take(entry)
		refusals = append(refusals, problems...)
		q.files = append(q.files, f)
		return err
	})
	if err == nil && len(refusals) > 0 {
		err = refusals
	}
	return err
}

// take reads one file of the queue.
func (q *Queue) take(entry gittree.Entry) (*file, exception.Refusals, error) {
	name := entry.Path
	at := exception.Position{File: name}
	f := &file{from: name, to: q.options.Signed + strings.TrimPrefix(name, q.options.Unsigned), blob: entry.Hash()}
	if entry.Mode != filemode.Regular {
		return f, exception.Refusals{{Position: at, Reason: ReasonNotRegular, Message: "it is a link, a submodule or executable, and only regular files are signed"}}, nil
	}
	if !plainPath(name) || !exception.HoldsDocuments(name) {
		return f, exception.Refusals{{Position: at, Reason: ReasonBadName, Message: "its name is not one of an exception",
			Hint: "use letters, digits, dots, dashes and underscores, and end it in .yaml, .yml or .json"}}, nil
	}
	content, err := q.tree.Read(entry)
	if err != nil {
		return f, nil, err
	}
	var refusals exception.Refusals
	err = readDocuments(content, name, func(doc *exception.Document, bad *exception.SyntaxError) {
		if bad != nil {
			refusals = append(refusals, &exception.Refusal{Position: bad.Position, Reason: ReasonMalformed, Message: bad.Message, Hint: bad.Hint})
			return
		}
		f.documents = append(f.documents, doc)
	})
	if err == nil && len(f.documents) == 0 && len(refusals) == 0 {
		refusals = append(refusals, &exception.Refusal{Position: at, Reason: ReasonNoDocuments, Message: "there is no document in it"})
	}
	return f, refusals, err
}

func plainPath(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if !plainName.MatchString(part) {
			return false
		}
	}
	return true
}

// walk calls visit for every entry below dir that is no folder, in order.
func walk(tree *gittree.Tree, dir string, visit func(gittree.Entry) error) error {
	switch folder, err := tree.Find(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case folder.Mode != filemode.Dir:
		return fmt.Errorf("%s is not a folder", dir)
	}
	return tree.Walk(dir, visit)
}

func readDocuments(content []byte, name string, visit func(*exception.Document, *exception.SyntaxError)) error {
	reader := exception.NewReader(bytes.NewReader(content), name)
	for {
		doc, err := reader.Next()
		var bad *exception.SyntaxError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &bad):
			visit(nil, bad)
		case err != nil:
			return err
		default:
			visit(doc, nil)
		}
	}
}

// Source returns the hash of the commit that the queue was read from.
func (q *Queue) Source() plumbing.Hash { return q.source }

// findOrigins finds the commits that the files of the queue come from.
func (q *Queue) findOrigins() error {
	paths := make([]string, len(q.files))
	for i, f := range q.files {
		paths[i] = f.from
	}
	origins, err := q.clone.Origins(q.source, paths)
	if err != nil {
		return err
	}
	for _, f := range q.files {
		if origin, known := origins[f.from]; known {
			f.origin = &origin
		}
	}
	return nil
}
