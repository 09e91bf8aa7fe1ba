package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/pkg/exception"
)

// reasonUnknownRevision is the reason if --ref names no commit or several.
const reasonUnknownRevision = "unknown-revision"

// inCommit returns the paths to verify, relative to the root of the commit. signed is the default, or
// empty.
func (o *options) inCommit(signed string) ([]string, error) {
	paths := o.paths
	if len(paths) == 0 {
		if signed == "" {
			return nil, &cli.UsageError{Err: errors.New("no path in the commit given"),
				Hint: "name it with --path, or with directories.signed in --config; --path . is all of it"}
		}
		paths = []string{signed}
	}
	clean := make([]string, len(paths))
	for i, name := range paths {
		if clean[i] = path.Clean(filepath.ToSlash(name)); name == "" || !fs.ValidPath(clean[i]) {
			return nil, cli.Usagef("the path %q is outside of the repository", name)
		}
	}
	return clean, nil
}

// commitInputs reads the documents of a commit.
type commitInputs struct {
	*options
	in     cli.Inputs
	tree   *git.Tree
	first  map[git.Hash]string // first path of each content
	copies int
}

// maxCopies is the maximum number of verified files with the same content as another one. A few Git
// objects can make 100,000 such files, and none of them can pass.
const maxCopies = 16

// each calls visit for every document, as [cli.Inputs.Each] does for files on disk.
func (c *commitInputs) each(ctx context.Context, paths []string, visit func(*exception.Document)) {
	repository, err := git.Open(ctx, c.git)
	if err != nil {
		c.unreadable(c.git, err)
		return
	}
	defer repository.Close() //nolint:errcheck // only read
	commit, err := repository.Resolve(c.ref)
	var unknown *git.RevisionError
	if errors.As(err, &unknown) {
		c.in.Report.Add(cli.Result{Outcome: cli.Unknown, File: c.git, Reason: reasonUnknownRevision,
			Message: err.Error(), Hint: unknown.Hint()})
		return
	}
	if err == nil {
		c.tree, err = repository.Tree(commit)
	}
	if err != nil {
		c.unreadable(c.git, err)
		return
	}
	c.first = map[git.Hash]string{}
	if c.in.Report.Idle != "" {
		c.in.Report.Idle = fmt.Sprintf("nothing is signed in commit %s: there is no exception in %s",
			c.tree.Commit(), paths[0])
	}
	c.in.Report.Source = &cli.Source{Revision: c.ref, Commit: c.tree.Commit()}
	for _, name := range paths {
		c.below(name, visit)
	}
}

func (c *commitInputs) below(name string, visit func(*exception.Document)) {
	found := false
	each := func(e git.Entry, problem string) error {
		found = true
		if problem == "" {
			c.file(e, visit)
			return nil
		}
		what, hint := "this ", "put the file itself here"
		if e.IsFile() {
			what, hint = "the file ", "remove the executable bit: git update-index --chmod=-x"
		}
		c.in.Report.Add(cli.Result{Outcome: cli.Refuse, File: e.Path, Reason: cli.ReasonNotRegular,
			Message: what + problem + ", and only regular files (mode 100644) are read in a commit", Hint: hint})
		return nil
	}
	var err error
	if c.in.Screen == nil {
		err = c.tree.Documents(name, exception.HoldsDocuments, each)
	} else {
		err = c.tree.Walk(name, func(e git.Entry) error {
			found = c.in.Screened(e.Path, e.Mode.OnDisk(), func() { c.file(e, visit) }) || found
			return nil
		})
	}
	switch {
	case c.in.Report.Idle != "" && errors.Is(err, fs.ErrNotExist): // Git keeps no empty folder
	case errors.Is(err, fs.ErrNotExist):
		c.in.Report.Add(cli.Result{Outcome: cli.Unknown, File: name, Reason: cli.ReasonUnreadable,
			Message: "the commit has no such file or folder"})
	case err != nil:
		c.unreadable(name, err)
	case !found && c.in.Report.Idle == "":
		c.in.Report.Add(cli.Result{Outcome: cli.Unknown, File: name, Reason: cli.ReasonNoDocuments,
			Message: "there is no .yaml, .yml or .json file in this folder of the commit"})
	}
}

func (c *commitInputs) file(e git.Entry, visit func(*exception.Document)) {
	if first, met := c.first[e.Hash()]; met {
		if c.copies++; c.copies > maxCopies {
			c.in.Report.Documents++
			c.in.Report.Add(cli.Result{Outcome: cli.Refuse, File: e.Path, Line: 1, Column: 1, Reason: reasonDuplicate,
				Message: fmt.Sprintf("the file has the same content as %q", first),
				Hint:    "only one of the two can be applied: keep the approved one"})
			return
		}
	} else {
		c.first[e.Hash()] = e.Path
	}
	content, err := c.tree.Read(e)
	if errors.Is(err, git.ErrTooLarge) {
		c.in.Report.Documents++
		c.in.Report.Add(cli.Malformed(&exception.SyntaxError{Position: exception.Position{File: e.Path,
			Line: 1, Column: 1},
			Message: fmt.Sprintf("the file is larger than %d MiB", git.MaxFile>>20),
			Hint:    "an exception has a few KiB; is this the right file?"}))
		return
	}
	if err != nil {
		c.unreadable(e.Path, err)
		return
	}
	c.in.Stream(bytes.NewReader(content), e.Path, visit)
}

// unreadable adds an error of Git with all its words: they name the object.
func (c *commitInputs) unreadable(file string, err error) {
	c.in.Report.Add(cli.Result{Outcome: cli.Unknown, File: file, Reason: cli.ReasonUnreadable, Message: err.Error()})
}
