package promotion

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/internal/promotion/renewal"
	"github.com/polex-dev/polex/pkg/exception"
)

// list reads both folders. It skips unreadable documents under signed/; polex-verify rejects those.
func (p *Plan) list() error {
	p.unsigned, p.signed = map[string]git.Entry{}, map[string]git.Entry{}
	if err := p.tree.WalkFolder(p.run.Unsigned, func(entry git.Entry) error {
		p.unsigned[entry.Path] = entry
		return nil
	}); err != nil {
		return err
	}
	return p.tree.WalkFolder(p.run.Signed, func(entry git.Entry) error {
		p.signed[entry.Path] = entry
		p.there.Add(entry.Path)
		if !pending.Signs(pending.File{Path: entry.Path, Mode: uint32(entry.Mode)}) {
			return nil
		}
		ids, known := p.run.identities[entry.Hash()]
		if !known {
			docs, err := documentsIn(p.tree, entry)
			if err != nil {
				return err
			}
			for _, doc := range docs {
				ids = append(ids, doc.Identity())
			}
			p.run.identities[entry.Hash()] = ids
		}
		p.there.Holds(entry.Path, ids)
		return nil
	})
}

// documentsIn returns the readable documents of a signed file.
func documentsIn(tree *git.Tree, entry git.Entry) ([]*exception.Document, error) {
	content, err := tree.Read(entry)
	if err != nil {
		return nil, err
	}
	docs, _, err := readDocuments(content, entry.Path)
	return docs, err
}

// waiting returns the hash of a pending file, or zero if the file does not exist or is not regular.
func (p *Plan) waiting(name string) git.Hash {
	entry, there := p.unsigned[name]
	if !there || entry.Mode != git.Regular {
		return git.ZeroHash
	}
	return entry.Hash()
}

// renewals compares each renewal with the signed exception that it names. Only here can the number
// of renewals be counted. Without its predecessor, a renewal is rejected: the predecessor was
// revoked or expired long ago. It returns the predecessor of each document from the signed folder,
// or nil for a first exception. The caller must verify the signature of the predecessor.
func (p *Plan) renewals(docs []*exception.Document) ([]*exception.Document, exception.Refusals, error) {
	predecessors := make([]*exception.Document, len(docs))
	var refusals exception.Refusals
	for i, doc := range docs {
		e, ok := doc.Exception()
		if !ok || e.Renews.Text == "" && e.RenewalNumber.Text == "" {
			continue
		}
		before, problem, err := p.continues(doc, e)
		if err != nil {
			return nil, nil, err
		}
		if problem != nil {
			refusals = append(refusals, &exception.Refusal{Position: doc.PositionOf(e.Renews.Path),
				Reason: pending.ReasonNotARenewal, Message: problem.Error(),
				Hint: "draft it with polex-request --renew, or request a new exception"})
		}
		predecessors[i] = before
	}
	return predecessors, refusals, nil
}

// continues returns the signed exception that doc renews, or the reason why it is not a renewal.
func (p *Plan) continues(doc *exception.Document,
	e *exception.Exception) (predecessor *exception.Document, problem, err error) {
	said, problem := e.Renewal()
	if problem != nil {
		return nil, problem, nil
	}
	before := e.Identity
	before.Name = said.Name
	problem = fmt.Errorf("it states that it renews %s, and no such exception is signed", before)
	for _, where := range p.there.Where(before) {
		signed, err := documentsIn(p.tree, p.signed[where])
		if err != nil {
			return nil, nil, err
		}
		for _, one := range signed {
			if one.Identity() != before {
				continue
			}
			if problem = renewal.Continues(doc, one); problem == nil {
				return one, nil, nil
			}
		}
	}
	return nil, problem, nil
}

// askedAgain returns the unchanged pending files that another commit than the one in the source
// added. Such a request was removed and made again, and the first approval does not cover the
// second request.
func (p *Plan) askedAgain() (map[string]bool, error) {
	if p.on == p.run.result.Source {
		return nil, nil
	}
	var paths []string
	for _, f := range p.run.files {
		if p.waiting(f.From) == f.Blob {
			paths = append(paths, f.From)
		}
	}
	origins, err := p.run.Clone.Origins(p.on, paths)
	if err != nil {
		return nil, err
	}
	again := map[string]bool{}
	for _, f := range p.run.files {
		// If only the history of the target branch shows the origin of a file, it was added later.
		now, known := origins[f.From]
		if f.Origin != nil && now.Commit != f.Origin.Commit || f.Origin == nil && known {
			again[f.From] = true
		}
	}
	return again, nil
}

// changedRule returns the first of [Options.Rules] that differs between the commit and HEAD, or "".
// This run read its rules from HEAD. A repeated old run does not know the current rules of the
// target branch.
func (p *Plan) changedRule() (string, error) {
	if len(p.run.Rules) == 0 || p.on == p.run.head.Commit {
		return "", nil
	}
	here, err := p.run.Clone.Tree(p.run.head.Commit)
	if err != nil {
		return "", err
	}
	for _, name := range p.run.Rules {
		var found [2]git.Entry
		for i, tree := range []*git.Tree{here, p.tree} {
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
