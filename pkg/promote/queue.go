package promote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/gittree"
)

// The reasons for which a queue is not promoted.
const (
	ReasonBadName       = "bad-file-name"
	ReasonNotRegular    = "not-a-regular-file"
	ReasonMalformed     = "malformed"
	ReasonNoDocuments   = "no-documents"
	ReasonTargetExists  = "target-exists"
	ReasonAlreadySigned = "already-signed"
)

// DefaultUnsigned and DefaultSigned are the folders when nothing else is said.
const (
	DefaultUnsigned = "unsigned"
	DefaultSigned   = "signed"
)

// Options say where the queue is.
type Options struct {
	Dir      string // any folder of the work tree
	Unsigned string // relative to the work tree's root, with slashes
	Signed   string
}

// Queue is what waits under unsigned/ at one commit.
type Queue struct {
	repository *git.Repository
	options    Options
	head       *plumbing.Reference
	tree       *gittree.Tree
	files      []file
}

type file struct {
	from, to  string // paths from the work tree's root
	documents []*exception.Document
}

// signed is what lies under signed/ already.
type signed struct {
	paths   map[string]bool // of files, and of the folders they are in
	objects map[exception.Identity]string
}

// Open reads the queue from the commit that HEAD names. It returns [exception.Refusals]
// when a file in it cannot be promoted, and another error when the repository
// cannot be read or its work tree is not clean below the two folders.
func Open(o Options) (*Queue, error) {
	if o.Unsigned == "" {
		o.Unsigned = DefaultUnsigned
	}
	if o.Signed == "" {
		o.Signed = DefaultSigned
	}
	if err := checkFolders(&o); err != nil {
		return nil, err
	}
	repository, err := git.PlainOpenWithOptions(o.Dir, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if err != nil {
		return nil, fmt.Errorf("open repository %s: %w", o.Dir, err)
	}
	head, err := repository.Head()
	if err != nil {
		return nil, fmt.Errorf("read HEAD: %w", err)
	}
	tree, err := gittree.In(repository.Storer, head.Hash())
	if err != nil {
		return nil, fmt.Errorf("read commit %s: %w", head.Hash(), err)
	}
	q := &Queue{repository: repository, options: o, head: head, tree: tree}
	if err := q.checkClean(); err != nil {
		return nil, err
	}
	return q, q.read()
}

func checkFolders(o *Options) error {
	for _, dir := range []*string{&o.Unsigned, &o.Signed} {
		clean := path.Clean(*dir)
		if path.IsAbs(clean) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") || clean == ".git" || strings.HasPrefix(clean, ".git/") {
			return fmt.Errorf("folder %q does not lie inside the repository", *dir)
		}
		*dir = clean
	}
	if o.Unsigned == o.Signed || strings.HasPrefix(o.Unsigned+"/", o.Signed+"/") || strings.HasPrefix(o.Signed+"/", o.Unsigned+"/") {
		return fmt.Errorf("the folders %q and %q lie in each other", o.Unsigned, o.Signed)
	}
	return nil
}

// checkClean refuses a work tree in which either folder differs from the
// commit: what was not committed was not reviewed. Nor may anything be staged
// elsewhere, for the commit takes the whole index along.
func (q *Queue) checkClean() error {
	worktree, err := q.repository.Worktree()
	if err != nil {
		return fmt.Errorf("open work tree: %w", err)
	}
	status, err := worktree.Status()
	if err != nil {
		return fmt.Errorf("read status of work tree: %w", err)
	}
	var dirty []string
	for name, s := range status {
		inside := strings.HasPrefix(name, q.options.Unsigned+"/") || strings.HasPrefix(name, q.options.Signed+"/")
		staged := s.Staging != git.Unmodified && s.Staging != git.Untracked
		if staged || (inside && (s.Staging != git.Unmodified || s.Worktree != git.Unmodified)) {
			dirty = append(dirty, name)
		}
	}
	if len(dirty) == 0 {
		return nil
	}
	slices.Sort(dirty)
	return fmt.Errorf("the work tree differs from the commit: %q: commit the changes or undo them", dirty[0])
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

func (q *Queue) read() error {
	already, err := q.signed()
	if err != nil {
		return err
	}
	var refusals exception.Refusals
	err = q.walk(q.options.Unsigned, func(entry gittree.Entry) error {
		if base := path.Base(entry.Path); strings.HasPrefix(base, ".git") || strings.EqualFold(path.Ext(base), ".md") {
			return nil // .gitkeep, README.md
		}
		f, problems, err := q.take(entry, already)
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
func (q *Queue) take(entry gittree.Entry, already signed) (file, exception.Refusals, error) {
	name := entry.Path
	at := exception.Position{File: name}
	f := file{from: name, to: q.options.Signed + strings.TrimPrefix(name, q.options.Unsigned)}
	if entry.Mode != filemode.Regular {
		return f, exception.Refusals{{Position: at, Reason: ReasonNotRegular, Message: "it is a link, a submodule or executable, and only regular files are signed"}}, nil
	}
	if !plainPath(name) || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) {
		return f, exception.Refusals{{Position: at, Reason: ReasonBadName, Message: "its name is not one of an exception",
			Hint: "use letters, digits, dots, dashes and underscores, and end it in .yaml, .yml or .json"}}, nil
	}
	if already.paths[f.to] {
		return f, exception.Refusals{{Position: at, Reason: ReasonTargetExists, Message: fmt.Sprintf("%s exists already", f.to),
			Hint: "an approved exception is not replaced without a word: remove the signed one in the same pull request, or choose another name"}}, nil
	}
	var refusals exception.Refusals
	err := q.readDocuments(entry, func(doc *exception.Document, bad *exception.SyntaxError) {
		if bad != nil {
			refusals = append(refusals, &exception.Refusal{Position: bad.Position, Reason: ReasonMalformed, Message: bad.Message, Hint: bad.Hint})
			return
		}
		f.documents = append(f.documents, doc)
		if where, ok := already.objects[doc.Identity()]; ok {
			refusals = append(refusals, &exception.Refusal{Position: doc.Position(), Reason: ReasonAlreadySigned,
				Message: fmt.Sprintf("%s is signed already, in %s", doc.Identity(), where), Hint: "remove the signed one in the same pull request, or choose another name"})
		}
	})
	if err == nil && len(f.documents) == 0 && len(refusals) == 0 {
		refusals = append(refusals, &exception.Refusal{Position: at, Reason: ReasonNoDocuments, Message: "there is no document in it"})
	}
	return f, refusals, err
}

func plainPath(name string) bool {
	for _, part := range strings.Split(name, "/") {
		if !plainName.MatchString(part) {
			return false
		}
	}
	return true
}

// signed returns what lies under signed/. What cannot be read there is for
// polex-verify to refuse.
func (q *Queue) signed() (signed, error) {
	found := signed{paths: map[string]bool{}, objects: map[exception.Identity]string{}}
	err := q.walk(q.options.Signed, func(entry gittree.Entry) error {
		for name := entry.Path; name != "."; name = path.Dir(name) {
			found.paths[name] = true
		}
		if entry.Mode != filemode.Regular || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(entry.Path)) {
			return nil
		}
		return q.readDocuments(entry, func(doc *exception.Document, _ *exception.SyntaxError) {
			if doc != nil {
				found.objects[doc.Identity()] = entry.Path
			}
		})
	})
	return found, err
}

// walk calls visit for every entry below dir that is no folder, in order.
func (q *Queue) walk(dir string, visit func(gittree.Entry) error) error {
	switch folder, err := q.tree.Find(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case folder.Mode != filemode.Dir:
		return fmt.Errorf("%s is not a folder", dir)
	}
	return q.tree.Walk(dir, visit)
}

func (q *Queue) readDocuments(entry gittree.Entry, visit func(*exception.Document, *exception.SyntaxError)) error {
	content, err := q.tree.Read(entry)
	if err != nil {
		return err
	}
	reader := exception.NewReader(bytes.NewReader(content), entry.Path)
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

// Documents returns all documents of the queue, in the order of their files.
func (q *Queue) Documents() []*exception.Document {
	var docs []*exception.Document
	for _, f := range q.files {
		docs = append(docs, f.documents...)
	}
	return docs
}

// Empty reports whether nothing waits.
func (q *Queue) Empty() bool { return len(q.files) == 0 }

// Source returns the hash of the commit that the queue was read from.
func (q *Queue) Source() string { return q.tree.Commit() }
