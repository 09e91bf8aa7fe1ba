package validate

import (
	"bytes"
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
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
)

// repository is the repository of the working directory, with its two folders.
type repository struct {
	root    string // "" outside a repository
	folders pending.Folders
	kinds   []string // of the trust policy
	signs   bool     // it has one of the folders, or the trust policy names a signer
}

func openRepository(cfg *config.Config) (r repository, err error) {
	trusted, _, err := cfg.Trust()
	if err != nil {
		return r, cli.InConfig(err)
	}
	r.kinds, r.signs = trusted.Kinds, len(trusted.Authorities) > 0
	if r.root, err = config.RepositoryRoot("."); err != nil || r.root == "" {
		return r, err
	}
	folders := pending.Folders{Unsigned: cfg.Directories.Unsigned, Signed: cfg.Directories.Signed}
	if r.folders, err = folders.Complete(); err != nil {
		return r, &cli.UsageError{Err: err, Hint: "see directories in the configuration"}
	}
	for _, folder := range []string{r.folders.Unsigned, r.folders.Signed} {
		_, err := os.Stat(r.path(folder))
		r.signs = r.signs || err == nil
	}
	return r, nil
}

// misplaced returns a warning for each changed file outside of the two folders that holds an exception.
func (r repository) misplaced(ctx context.Context, since *changed.Since) (results []cli.Result, err error) {
	if !r.signs || r.root == "" || since == nil {
		return nil, nil
	}
	files, err := changed.List(ctx, r.root)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if within(r.folders.Unsigned, f.Path) || within(r.folders.Signed, f.Path) ||
			f.Mode != pending.Regular || !exception.HoldsDocuments(f.Path) {
			continue
		}
		differs, err := since.Differs(f)
		if err != nil {
			return nil, err
		}
		if !differs {
			continue
		}
		// No promotion reads the file, so it may be unreadable.
		content, err := cli.ReadFileUpTo(r.path(f.Path), pending.MaxOther)
		if err != nil || !bytes.Contains(content, []byte(exception.Kind)) {
			continue
		}
		for doc := range cli.Documents([]string{r.path(f.Path)}, &cli.Report{}, cli.Warn) {
			if objects := manifest.Objects([]*exception.Document{doc}); len(objects) > 0 &&
				objects[0].GroupKind().IsException() {
				result := cli.ResultFor(doc)
				result.Outcome, result.Reason = cli.Warn, reasonMisplaced
				result.Message = fmt.Sprintf("polex does not sign a PolicyException outside of %s/", r.folders.Unsigned)
				result.Hint = fmt.Sprintf("move it to %s/, if the change should request it", r.folders.Unsigned)
				results = append(results, result)
			}
		}
	}
	return results, nil
}

// defaultPaths returns the paths of a run without arguments: the pending folder, if it exists.
func (r repository) defaultPaths() ([]string, error) {
	folder := r.path(r.folders.Unsigned)
	switch info, err := os.Lstat(folder); {
	case r.root == "":
		return nil, cli.UsageHint("name files or folders, or - for standard input",
			"no path is given, and the working directory is not in a Git repository")
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
	files   []changed.File  // the pending and the signed ones
	changed map[string]bool // the pending files that this run checks, and the changed signed files
	signed  []string        // paths of the signed files with exceptions
}

// openQueue returns the pending files if a path covers a part of the pending folder. It returns nil
// otherwise, outside a repository, or if no pending file has changed.
func openQueue(
	ctx context.Context, r repository, cfg *config.Config, paths []string, since *changed.Since,
) (*queue, error) {
	q := &queue{repository: r, replace: cfg.Promote.Updates == "replace", changed: map[string]bool{}}
	below := q.below(paths)
	if r.root == "" || len(below) == 0 {
		return nil, nil
	}
	files, err := changed.List(ctx, r.root, q.folders.Unsigned, q.folders.Signed)
	if err != nil {
		return nil, cli.Hint(err, "polex-validate asks Git which files of the pending folder would be promoted")
	}
	isChanged := false
	for _, f := range files {
		isSigned := q.isSigned(f)
		if !isSigned && !pending.Waits(f.Path) {
			continue
		}
		q.files = append(q.files, f)
		if isSigned && f.Mode == pending.Regular && exception.HoldsDocuments(f.Path) {
			q.signed = append(q.signed, q.path(f.Path))
		}
		if isSigned && since != nil || !isSigned && slices.ContainsFunc(below, func(path string) bool {
			return path == "." || within(path, f.Path)
		}) {
			if q.changed[f.Path], err = since.Differs(f); err != nil {
				return nil, err
			}
			isChanged = isChanged || q.changed[f.Path]
		}
	}
	if !isChanged {
		return nil, nil
	}
	return q, nil
}

// below returns the paths that overlap the pending folder, relative to the root of the repository.
func (q *queue) below(paths []string) (below []string) {
	for _, path := range paths {
		name, inside := config.PathIn(q.root, path)
		if path != "-" && inside &&
			(name == "." || within(q.folders.Unsigned, name) || within(name, q.folders.Unsigned)) {
			below = append(below, name)
		}
	}
	return below
}

func (q *queue) isSigned(f changed.File) bool { return within(q.folders.Signed, f.Path) }

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

// check returns the refusals of a later promotion as results.
func (q *queue) check() []cli.Result {
	var entries []pending.Entry
	parallel.Ordered[changed.File, pending.Entry]{Workers: runtime.GOMAXPROCS(0), Work: q.entry,
		Done: func(_ changed.File, e pending.Entry) { entries = append(entries, e) },
	}.Each(func(hand func(changed.File)) {
		for _, f := range q.files {
			hand(f)
		}
	})
	var results []cli.Result
	for _, refusal := range pending.Blocked(entries, q.replace) {
		result := cli.ResultOf(refusal)
		result.File = q.path(result.File)
		results = append(results, result)
	}
	return results
}

// entry reads a file of one of the folders. The run reports an unreadable document elsewhere.
func (q *queue) entry(f changed.File) pending.Entry {
	e := pending.Entry{File: pending.File{Path: f.Path, Mode: f.Mode}, Signed: q.isSigned(f),
		Changed: q.changed[f.Path]}
	path := q.path(f.Path)
	if !e.Signed {
		e.To = q.folders.Target(f.Path)
		if pending.CheckFile(e.File) != nil {
			return e
		}
		if info, err := os.Stat(path); err == nil {
			e.Size = info.Size()
		}
	}
	if !pending.Signs(e.File) {
		return e
	}
	for doc := range cli.Documents([]string{path}, &cli.Report{}, cli.Warn) {
		e.Documents = append(e.Documents, pending.Document{Identity: doc.Identity(), Position: doc.Position()})
	}
	// A file that begins with an exception is not of another kind.
	if !e.Signed && len(e.Documents) > 0 && e.Documents[0].Identity.Kind != exception.Kind &&
		q.otherKinds(path, false) {
		e.Documents = nil
	}
	return e
}
