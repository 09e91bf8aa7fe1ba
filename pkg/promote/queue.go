package promote

import (
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/polex-dev/polex/pkg/exception"
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
	commit     *object.Commit
	files      []file
}

type file struct {
	from, to  string // paths from the work tree's root
	documents []*exception.Document
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
	commit, err := repository.CommitObject(head.Hash())
	if err != nil {
		return nil, fmt.Errorf("read commit %s: %w", head.Hash(), err)
	}
	q := &Queue{repository: repository, options: o, head: head, commit: commit}
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
	tree, err := q.commit.Tree()
	if err != nil {
		return fmt.Errorf("read tree of %s: %w", q.commit.Hash, err)
	}
	signed, err := q.signedIdentities(tree)
	if err != nil {
		return err
	}
	var refusals exception.Refusals
	err = walk(tree, q.options.Unsigned, func(name string, mode filemode.FileMode) error {
		if base := path.Base(name); strings.HasPrefix(base, ".git") || strings.EqualFold(path.Ext(base), ".md") {
			return nil // .gitkeep, README.md
		}
		f, problems, err := q.take(tree, name, mode, signed)
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
func (q *Queue) take(tree *object.Tree, name string, mode filemode.FileMode, signed map[exception.Identity]string) (file, exception.Refusals, error) {
	at := exception.Position{File: name}
	f := file{from: name, to: q.options.Signed + strings.TrimPrefix(name, q.options.Unsigned)}
	if mode != filemode.Regular {
		return f, exception.Refusals{{Position: at, Reason: ReasonNotRegular, Message: "it is a link, a submodule or executable, and only regular files are signed"}}, nil
	}
	if !plainPath(name) || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) {
		return f, exception.Refusals{{Position: at, Reason: ReasonBadName, Message: "its name is not one of an exception",
			Hint: "use letters, digits, dots, dashes and underscores, and end it in .yaml, .yml or .json"}}, nil
	}
	if _, err := tree.FindEntry(f.to); err == nil {
		return f, exception.Refusals{{Position: at, Reason: ReasonTargetExists, Message: fmt.Sprintf("%s exists already", f.to),
			Hint: "an approved exception is not replaced without a word: remove the signed one in the same pull request, or choose another name"}}, nil
	}
	var refusals exception.Refusals
	err := readDocuments(tree, name, func(doc *exception.Document, bad *exception.SyntaxError) {
		if bad != nil {
			refusals = append(refusals, &exception.Refusal{Position: bad.Position, Reason: ReasonMalformed, Message: bad.Message, Hint: bad.Hint})
			return
		}
		f.documents = append(f.documents, doc)
		if where, ok := signed[doc.Identity()]; ok {
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

// signedIdentities returns which objects lie under signed/, and where. What
// cannot be read there is for polex-verify to refuse.
func (q *Queue) signedIdentities(tree *object.Tree) (map[exception.Identity]string, error) {
	found := map[exception.Identity]string{}
	err := walk(tree, q.options.Signed, func(name string, mode filemode.FileMode) error {
		if mode != filemode.Regular || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) {
			return nil
		}
		return readDocuments(tree, name, func(doc *exception.Document, _ *exception.SyntaxError) {
			if doc != nil {
				found[doc.Identity()] = name
			}
		})
	})
	return found, err
}

// walk calls visit for every entry below dir that is no folder, in order.
func walk(tree *object.Tree, dir string, visit func(name string, mode filemode.FileMode) error) error {
	entry, err := tree.FindEntry(dir)
	if errors.Is(err, object.ErrEntryNotFound) || errors.Is(err, object.ErrDirectoryNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", dir, err)
	}
	if entry.Mode != filemode.Dir {
		return fmt.Errorf("%s is not a folder", dir)
	}
	sub, err := tree.Tree(dir)
	if err != nil {
		return fmt.Errorf("read %s: %w", dir, err)
	}
	walker := object.NewTreeWalker(sub, true, nil)
	defer walker.Close()
	for {
		name, entry, err := walker.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", dir, err)
		}
		if entry.Mode == filemode.Dir {
			continue
		}
		if err := visit(dir+"/"+name, entry.Mode); err != nil {
			return err
		}
	}
}

func readDocuments(tree *object.Tree, name string, visit func(*exception.Document, *exception.SyntaxError)) error {
	blob, err := tree.File(name)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	content, err := blob.Reader()
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	defer content.Close() //nolint:errcheck // only read
	reader := exception.NewReader(content, name)
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
func (q *Queue) Source() string { return q.commit.Hash.String() }
