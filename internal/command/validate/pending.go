package validate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/command/changed"
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/parallel"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/internal/pending"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// repository is the repository of the working directory, with its two folders.
type repository struct {
	root    string // "" outside a repository
	folders pending.Folders
	kinds   []string // of the trust policy
}

func openRepository(cfg *config.Config) (r repository, err error) {
	trusted, _, err := cfg.Trust()
	if err != nil {
		return r, cli.InConfig(err)
	}
	r.kinds = trusted.Kinds
	if r.root, err = config.RepositoryRoot("."); err != nil || r.root == "" {
		return r, err
	}
	if r.folders, err = (pending.Folders{Unsigned: cfg.Directories.Unsigned, Signed: cfg.Directories.Signed}).Complete(); err != nil {
		return r, &cli.UsageError{Err: err, Hint: "see directories in the configuration"}
	}
	return r, nil
}

// defaultPaths returns the paths of a run without arguments: the pending folder, if it exists.
func (r repository) defaultPaths() ([]string, error) {
	folder := r.path(r.folders.Unsigned)
	switch info, err := os.Lstat(folder); {
	case r.root == "":
		return nil, &cli.UsageError{Err: errors.New("no path is given, and the working directory is not in a Git repository"), Hint: "name files or folders, or - for standard input"}
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s, the folder of pending exceptions, is not a folder", folder)
	}
	return []string{folder}, nil
}

// skips reports whether a file of other kinds is skipped: in the pending folder as in a promotion, and with
// always everywhere except in the signed folder, also if nobody can read it.
func (r repository) skips(name string, always bool) bool {
	if r.root != "" {
		switch path, inside := config.PathIn(r.root, name); {
		case inside && within(r.folders.Signed, path):
			return false
		case inside && within(r.folders.Unsigned, path):
			return r.otherKinds(name, false)
		}
	}
	return always && r.otherKinds(name, true)
}

func (r repository) otherKinds(name string, anySyntax bool) bool {
	content, err := cli.ReadFileUpTo(name, pending.MaxOther)
	return err == nil && (pending.OtherKinds(content, filepath.ToSlash(name), r.kinds) ||
		anySyntax && pending.NeverHolds(content, r.kinds))
}

// within reports whether a path lies in a folder or is the folder.
func within(folder, path string) bool { return strings.HasPrefix(path+"/", folder+"/") }

// queue is the part of the pending folder that the paths of a run cover. The run rejects a file
// that promotion would reject after the merge, because it would block everybody's exceptions there.
type queue struct {
	repository
	replace bool
	files   []changed.File  // of both folders
	covered map[string]bool // the pending files that this run checks
	touched map[string]bool // the changed signed files
	signed  []string        // paths of the signed files with exceptions

	documents map[string][]pending.Document // by path in the repository
	others    map[string]bool               // the files of other kinds, by path for this process
}

// openQueue returns the pending files if a path covers a part of the pending folder. It returns nil
// otherwise, outside a repository, or if no pending file has changed.
func openQueue(ctx context.Context, r repository, cfg *config.Config, paths []string, since *changed.Since) (*queue, error) {
	if r.root == "" {
		return nil, nil
	}
	q := &queue{repository: r, replace: cfg.Promote.Updates == "replace", covered: map[string]bool{}, touched: map[string]bool{}}
	below := q.below(paths)
	if len(below) == 0 {
		return nil, nil
	}
	var err error
	if q.files, err = changed.List(ctx, r.root, q.folders.Unsigned, q.folders.Signed); err != nil {
		return nil, cli.Hint(err, "polex-validate asks Git which files of the pending folder would be promoted")
	}
	for _, f := range q.files {
		if since != nil && q.isSigned(f) {
			if q.touched[f.Path], err = since.Differs(f); err != nil {
				return nil, err
			}
		}
		if !q.waits(f) || !slices.ContainsFunc(below, func(path string) bool { return path == "." || f.Path == path || strings.HasPrefix(f.Path, path+"/") }) {
			continue
		}
		if q.covered[f.Path], err = since.Differs(f); err != nil {
			return nil, err
		}
	}
	differs := func(f changed.File) bool { return q.covered[f.Path] || q.touched[f.Path] }
	if !slices.ContainsFunc(q.files, differs) {
		return nil, nil
	}
	for _, f := range q.files {
		if q.isSigned(f) && f.Mode == pending.Regular && exception.HoldsDocuments(f.Path) {
			q.signed = append(q.signed, q.path(f.Path))
		}
	}
	return q, nil
}

// below returns the paths that overlap the pending folder, relative to the root of the repository.
func (q *queue) below(paths []string) []string {
	var below []string
	for _, path := range paths {
		name, inside := config.PathIn(q.root, path)
		if path == "-" || !inside {
			continue
		}
		if name == "." || within(q.folders.Unsigned, name) || within(name, q.folders.Unsigned) {
			below = append(below, name)
		}
	}
	return below
}

func (q *queue) waits(f changed.File) bool {
	return within(q.folders.Unsigned, f.Path) && pending.Waits(f.Path)
}

func (q *queue) isSigned(f changed.File) bool {
	return within(q.folders.Signed, f.Path)
}

// path returns the path of a file or folder for this process.
func (r repository) path(name string) string {
	path := filepath.Join(r.root, filepath.FromSlash(name))
	if here, err := os.Getwd(); err == nil {
		if near, err := filepath.Rel(here, path); err == nil {
			return near
		}
	}
	return path
}

// check adds the refusals of promotion for the checked files to the report.
func (q *queue) check(report *cli.Report) {
	q.readAll()
	var signed, before pending.Signed // before is without the changes
	var requests []pending.Request
	for _, f := range q.files {
		switch {
		case q.isSigned(f):
			all := []*pending.Signed{&signed, &before}
			if q.touched[f.Path] {
				all = all[:1]
			}
			var ids []exception.Identity
			signs := pending.Signs(pending.File{Path: f.Path, Mode: f.Mode})
			if signs {
				for _, doc := range q.read(f) {
					ids = append(ids, doc.Identity)
				}
			}
			for _, s := range all {
				if s.Add(f.Path); signs {
					s.Holds(f.Path, ids)
				}
			}
		case q.waits(f):
			request := pending.Request{From: f.Path, To: q.folders.Target(f.Path)}
			if refusal := pending.CheckFile(pending.File{Path: f.Path, To: request.To, Mode: f.Mode}); refusal != nil {
				q.refuse(report, f.Path, refusal)
			} else if request.Documents = q.read(f); len(request.Documents) > 0 && !q.otherKinds(q.path(f.Path)) {
				requests = append(requests, request)
				q.checkSize(report, request)
			}
		}
	}
	// Older pending files come first. If two conflict, the file that this run checks gets the
	// error.
	slices.SortStableFunc(requests, func(a, b pending.Request) int { return order(q.covered[a.From]) - order(q.covered[b.From]) })
	asked := map[exception.Identity]bool{}
	by := map[exception.Identity]string{}
	for _, r := range requests {
		for _, doc := range r.Documents {
			asked[doc.Identity] = true
			if first, again := by[doc.Identity]; again && !q.covered[first] { // the run itself reports duplicates among the files that it checks
				q.refuse(report, r.From, &exception.Refusal{Position: doc.Position, Reason: shape.ReasonDuplicateIdentity,
					Message: fmt.Sprintf("%s is already pending, in %s", doc.Identity, first), Hint: "only one of the two can be promoted"})
			} else if !again {
				by[doc.Identity] = r.From
			}
		}
	}
	targets := pending.Targets{}
	for _, r := range requests {
		_, refusals := signed.Check(r, asked, q.replace)
		if !q.covered[r.From] && len(refusals) > 0 {
			if _, was := before.Check(r, asked, q.replace); len(was) == 0 {
				report.Add(q.result(refusals[0])) // this change blocks a pending file
			}
		}
		for _, refusal := range append(refusals, targets.Add(r)...) {
			q.refuse(report, r.From, refusal)
		}
	}
}

// checkSize rejects a request that is too large to be signed. An unreadable file is reported elsewhere.
func (q *queue) checkSize(report *cli.Report, r pending.Request) {
	if info, err := os.Stat(q.path(r.From)); err == nil {
		if refusal := pending.CheckSize(r.From, info.Size(), len(r.Documents)); refusal != nil {
			q.refuse(report, r.From, refusal)
		}
	}
}

func order(judged bool) int {
	if judged {
		return 1
	}
	return 0
}

// readAll reads the documents of the files on all cores, before [queue.read] and [queue.otherKinds].
func (q *queue) readAll() {
	q.documents, q.others = map[string][]pending.Document{}, map[string]bool{}
	parallel.Ordered[changed.File, []pending.Document]{Workers: runtime.GOMAXPROCS(0),
		Work: func(f changed.File) (documents []pending.Document) {
			for doc := range cli.Documents([]string{q.path(f.Path)}, &cli.Report{}, cli.Warn) {
				documents = append(documents, pending.Document{Identity: doc.Identity(), Position: doc.Position()})
			}
			return documents
		},
		Done: func(f changed.File, documents []pending.Document) {
			q.documents[f.Path] = documents
			// A file that begins with an exception is not of another kind.
			q.others[q.path(f.Path)] = len(documents) > 0 && documents[0].Identity.Kind != "PolicyException" && q.repository.otherKinds(q.path(f.Path), false)
		},
	}.Each(func(hand func(changed.File)) {
		for _, f := range q.files {
			file := pending.File{Path: f.Path, Mode: f.Mode}
			if pending.Signs(file) && (q.isSigned(f) || q.waits(f) && pending.CheckFile(file) == nil) {
				hand(f)
			}
		}
	})
}

// read returns the documents of a file. Unreadable ones are reported elsewhere.
func (q *queue) read(f changed.File) []pending.Document { return q.documents[f.Path] }

func (q *queue) otherKinds(path string) bool { return q.others[path] }

func (q *queue) refuse(report *cli.Report, name string, r *exception.Refusal) {
	if !q.covered[name] {
		return
	}
	result := q.result(r)
	result.File = q.path(name)
	if !slices.ContainsFunc(report.Results(), func(said cli.Result) bool { return said.File == result.File && said.Reason == r.Reason }) {
		report.Add(result)
	}
}

func (q *queue) result(r *exception.Refusal) cli.Result {
	result := cli.ResultOf(r)
	result.File = q.path(result.File)
	return result
}
