package promotion

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
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

// Queue holds the pending exceptions of one commit, the source.
type Queue struct {
	clone   *commit.Clone
	options Options
	head    git.Head
	source  git.Hash
	// committedAt is the committer time of the source.
	committedAt time.Time
	tree        *git.Tree
	files       []*Move // the pending files, before a plan
	// refused are the files that are rejected in every plan.
	refused exception.Refusals
	left    map[string]bool // files that later plans leave out
	others  int             // number of files of other kinds, which stay
	// signed caches the exceptions in signed files by content hash. Files are not parsed again if
	// the remote has moved.
	signed map[git.Hash][]exception.Identity
}

// Open reads the pending exceptions of a clone. It returns [exception.Refusals] if a file cannot be
// promoted, and a *[git.RevisionError] for an invalid source. It returns another error if the
// repository cannot be read or the work tree has uncommitted changes of the rules.
func Open(clone *commit.Clone, o Options) (*Queue, error) {
	folders, err := pending.Folders{Unsigned: o.Unsigned, Signed: o.Signed}.Complete()
	if err != nil {
		return nil, err
	}
	o.Unsigned, o.Signed = folders.Unsigned, folders.Signed
	source, err := clone.Resolve(cmp.Or(o.Source, "HEAD"))
	if err != nil {
		return nil, err
	}
	q := &Queue{clone: clone, options: o, source: source, signed: map[git.Hash][]exception.Identity{},
		left: map[string]bool{}}
	if q.head, err = clone.Head(); err != nil {
		return nil, err
	}
	at, err := clone.Repository.Commit(source)
	if err != nil {
		return nil, err
	}
	q.committedAt = at.Committer.When
	if q.tree, err = clone.Tree(source); err != nil {
		return nil, err
	}
	if err := q.checkRules(); err != nil {
		return nil, err
	}
	if err := q.read(); err != nil {
		return nil, err
	}
	return q, q.findOrigins()
}

// checkRules rejects a work tree in which a rule differs from HEAD: the run reads the rules there, and
// uncommitted ones were not reviewed.
func (q *Queue) checkRules() error {
	committed, err := q.clone.Tree(q.head.Commit)
	if err != nil {
		return err
	}
	var paths []string
	for _, name := range q.options.Rules {
		if _, err := committed.Find(name); err == nil {
			paths = append(paths, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if len(paths) == 0 {
		return nil
	}
	dirty, err := q.clone.Dirty(paths...)
	if err == nil && len(dirty) > 0 {
		err = fmt.Errorf("the work tree differs from the commit: %q: commit the changes or undo them", dirty[0])
	}
	return err
}

func (q *Queue) read() error {
	err := q.tree.WalkFolder(q.options.Unsigned, func(entry git.Entry) error {
		if !pending.Waits(entry.Path) {
			return nil
		}
		f, problems, err := q.take(entry)
		if q.refused = append(q.refused, problems...); f != nil && len(problems) == 0 {
			q.files = append(q.files, f)
		}
		return err
	})
	if err == nil && len(q.refused) > 0 && !q.options.KeepGoing {
		err = q.refused
	}
	return err
}

// take reads one pending file. It returns nil for a file of other kinds.
func (q *Queue) take(entry git.Entry) (*Move, exception.Refusals, error) {
	name := entry.Path
	f := &Move{From: name, Blob: entry.Hash(),
		To: pending.Folders{Unsigned: q.options.Unsigned, Signed: q.options.Signed}.Target(name)}
	if refusal := pending.CheckFile(pending.File{Path: name, To: f.To, Mode: uint32(entry.Mode)}); refusal != nil {
		return f, exception.Refusals{refusal}, nil
	}
	content, err := q.tree.Read(entry)
	if errors.Is(err, git.ErrTooLarge) {
		return f, exception.Refusals{pending.CheckSize(name, git.MaxFile+1, 0)}, nil
	}
	if err != nil {
		return f, nil, err
	}
	if pending.OtherKinds(content, name, q.options.Kinds) {
		q.others++
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
func (q *Queue) findOrigins() error {
	paths := make([]string, len(q.files))
	for i, f := range q.files {
		paths[i] = f.From
	}
	origins, err := q.clone.Origins(q.source, paths)
	if err != nil {
		return err
	}
	for _, f := range q.files {
		if origin, known := origins[f.From]; known {
			f.Origin = &origin
		}
	}
	return nil
}

// Target returns the commit for the plan: the tip of the target branch. It fetches the branch, so a
// repeated run does not sign a request that was signed or removed in the meantime.
//
// local is for a promotion that stays in the clone. Then the local branch is used if it contains
// the remote branch, or if the remote does not have that branch.
func Target(ctx context.Context, clone *commit.Clone, branch commit.Remote, local bool) (git.Hash, error) {
	if !local {
		return clone.Fetch(ctx, branch)
	}
	head, err := clone.Head()
	if err != nil {
		return git.ZeroHash, err
	}
	switch _, there, err := clone.Ask(ctx, branch); {
	case err != nil:
		return git.ZeroHash, fmt.Errorf("ask the remote for %s: %w", branch, err)
	case !there:
		return head.Commit, nil
	}
	tip, err := clone.Fetch(ctx, branch)
	if err != nil {
		return git.ZeroHash, err
	}
	if ahead, err := clone.Contains(head.Commit, tip); err != nil || ahead {
		return head.Commit, err
	}
	return tip, nil
}

// askedAgain returns the unchanged pending files that another commit than the one in the source
// added. Such a request was removed and made again, and the first approval does not cover the
// second request.
func (q *Queue) askedAgain(there *listing, on git.Hash) (map[string]bool, error) {
	if on == q.source {
		return nil, nil
	}
	var paths []string
	for _, f := range q.files {
		if there.waiting(f.From) == f.Blob {
			paths = append(paths, f.From)
		}
	}
	origins, err := q.clone.Origins(on, paths)
	if err != nil {
		return nil, err
	}
	again := map[string]bool{}
	for _, f := range q.files {
		// If only the history of the target branch shows the origin of a file, it was added later.
		now, known := origins[f.From]
		if f.Origin != nil && now.Commit != f.Origin.Commit || f.Origin == nil && known {
			again[f.From] = true
		}
	}
	return again, nil
}

// changedRule returns the first of [Options.Rules] that differs between a tree and HEAD, or "".
// This run read its rules from HEAD. A repeated old run does not know the current rules of the
// target branch.
func (q *Queue) changedRule(there *git.Tree) (string, error) {
	if len(q.options.Rules) == 0 || there.Commit() == q.head.Commit.String() {
		return "", nil
	}
	here, err := q.clone.Tree(q.head.Commit)
	if err != nil {
		return "", err
	}
	for _, name := range q.options.Rules {
		var found [2]git.Entry
		for i, tree := range []*git.Tree{here, there} {
			var err error
			if found[i], err = tree.Find(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
		if found[0] != found[1] {
			return name, nil
		}
	}
	return "", nil
}
