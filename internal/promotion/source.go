package promotion

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
)

// Options select the files to promote. The zero value is the strictest.
type Options struct {
	Unsigned string // relative to the work tree's root, with slashes
	Signed   string
	// Kinds are the kinds of the trust policy, in its notation. A file with one of them is not
	// skipped.
	Kinds []string
	// Source is the commit to read unsigned/ from: HEAD, a full hash, or the name of a branch or
	// tag. "" means HEAD.
	Source string
	// Replace lets a request replace a signed exception. Otherwise such a request is an error.
	Replace bool
	// Rules are the files and folders of the configuration, relative to the root. If they differ
	// between HEAD and the target branch, a run with the new configuration promotes the files.
	Rules []string
	// KeepGoing leaves out rejected files and promotes the others. Otherwise one rejected file
	// stops the run.
	KeepGoing bool
}

// open reads the pending exceptions of the source. It returns [exception.Refusals] if a file cannot be
// promoted, and a *[git.RevisionError] for an invalid source. It returns another error if the
// repository cannot be read or the work tree has uncommitted changes of the rules.
func (r *run) open() error {
	folders, err := pending.Folders{Unsigned: r.Unsigned, Signed: r.Signed}.Complete()
	if err != nil {
		return err
	}
	r.Unsigned, r.Signed = folders.Unsigned, folders.Signed
	source, err := r.Clone.Resolve(cmp.Or(r.Source, "HEAD"))
	if err != nil {
		return err
	}
	r.result.Source = source
	if r.head, err = r.Clone.Head(); err != nil {
		return err
	}
	at, err := r.Clone.Repository.Commit(source)
	if err != nil {
		return err
	}
	r.committedAt = at.Committer.When
	if r.tree, err = r.Clone.Tree(source); err != nil {
		return err
	}
	if err := r.checkRules(); err != nil {
		return err
	}
	if err := r.read(); err != nil {
		return err
	}
	return r.findOrigins()
}

// checkRules rejects a work tree in which a rule differs from HEAD: the run reads the rules there, and
// uncommitted ones were not reviewed.
func (r *run) checkRules() error {
	committed, err := r.Clone.Tree(r.head.Commit)
	if err != nil {
		return err
	}
	var paths []string
	for _, name := range r.Rules {
		if _, err := committed.Find(name); err == nil {
			paths = append(paths, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if len(paths) == 0 {
		return nil
	}
	dirty, err := r.Clone.Dirty(paths...)
	if err == nil && len(dirty) > 0 {
		err = fmt.Errorf("the work tree differs from the commit: %q: commit the changes or undo them", dirty[0])
	}
	return err
}

func (r *run) read() error {
	var refused exception.Refusals
	err := r.tree.WalkFolder(r.Unsigned, func(entry git.Entry) error {
		if !pending.Waits(entry.Path) {
			return nil
		}
		f, problems, err := r.take(entry)
		if refused = append(refused, problems...); f != nil && len(problems) == 0 {
			r.files = append(r.files, f)
		}
		return err
	})
	if err == nil && len(refused) > 0 && !r.KeepGoing {
		return refused
	}
	r.reject(Refused(refused))
	return err
}

// take reads one pending file. It returns nil for a file of other kinds.
func (r *run) take(entry git.Entry) (*Move, exception.Refusals, error) {
	name := entry.Path
	f := &Move{From: name, Blob: entry.Hash(),
		To: pending.Folders{Unsigned: r.Unsigned, Signed: r.Signed}.Target(name)}
	if refusal := pending.CheckFile(pending.File{Path: name, To: f.To, Mode: uint32(entry.Mode)}); refusal != nil {
		return f, exception.Refusals{refusal}, nil
	}
	content, err := r.tree.Read(entry)
	if errors.Is(err, git.ErrTooLarge) {
		return f, exception.Refusals{pending.CheckSize(name, git.MaxFile+1, 0)}, nil
	}
	if err != nil {
		return f, nil, err
	}
	if pending.OtherKinds(content, name, r.Kinds) {
		r.result.OtherKinds++
		return nil, nil, nil
	}
	var refusals exception.Refusals
	f.Documents, refusals, err = readDocuments(content, name)
	if refusal := pending.CheckSize(name, int64(len(content)), len(f.Documents)); refusal != nil {
		refusals = append(refusals, refusal)
	}
	if err == nil && len(f.Documents) == 0 && len(refusals) == 0 {
		refusals = append(refusals, refuse(exception.Position{File: name}, pending.ReasonNoDocuments,
			"there is no document in it"))
	}
	return f, refusals, err
}

// readDocuments returns the documents of a file, and a refusal for each malformed one.
func readDocuments(content []byte, name string) (docs []*exception.Document, refusals exception.Refusals, err error) {
	for doc, err := range exception.NewReader(bytes.NewReader(content), name).All() {
		var bad *exception.SyntaxError
		switch {
		case errors.As(err, &bad):
			refusals = append(refusals, &exception.Refusal{Position: bad.Position, Reason: ReasonMalformed,
				Message: bad.Message, Hint: bad.Hint})
		case err != nil:
			return nil, nil, err
		default:
			docs = append(docs, doc)
		}
	}
	return docs, refusals, nil
}

// findOrigins finds the origin commit of each pending file.
func (r *run) findOrigins() error {
	paths := make([]string, len(r.files))
	for i, f := range r.files {
		paths[i] = f.From
	}
	origins, err := r.Clone.Origins(r.result.Source, paths)
	if err != nil {
		return err
	}
	for _, f := range r.files {
		if origin, known := origins[f.From]; known {
			f.Origin = &origin
		}
	}
	return nil
}
