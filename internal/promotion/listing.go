package promotion

import (
	"fmt"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/internal/promotion/renewal"
	"github.com/polex-dev/polex/pkg/exception"
)

// listing holds the files of both folders in a commit.
type listing struct {
	tree     *git.Tree
	unsigned map[string]git.Entry // by path
	signed   map[string]git.Entry
	pending.Signed
}

// list reads both folders of a tree. It skips unreadable documents under signed/; polex-verify
// rejects those.
func (q *Queue) list(tree *git.Tree) (*listing, error) {
	l := &listing{tree: tree, unsigned: map[string]git.Entry{}, signed: map[string]git.Entry{}}
	if err := tree.WalkFolder(q.options.Unsigned, func(entry git.Entry) error {
		l.unsigned[entry.Path] = entry
		return nil
	}); err != nil {
		return nil, err
	}
	return l, tree.WalkFolder(q.options.Signed, func(entry git.Entry) error {
		l.signed[entry.Path] = entry
		l.Add(entry.Path)
		if !pending.Signs(pending.File{Path: entry.Path, Mode: uint32(entry.Mode)}) {
			return nil
		}
		ids, err := q.identities(tree, entry)
		l.Holds(entry.Path, ids)
		return err
	})
}

func (q *Queue) identities(tree *git.Tree, entry git.Entry) ([]exception.Identity, error) {
	if ids, known := q.signed[entry.Hash()]; known {
		return ids, nil
	}
	docs, err := documentsIn(tree, entry)
	if err != nil {
		return nil, err
	}
	ids := make([]exception.Identity, len(docs))
	for i, doc := range docs {
		ids[i] = doc.Identity()
	}
	q.signed[entry.Hash()] = ids
	return ids, nil
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
func (l *listing) waiting(name string) git.Hash {
	entry, there := l.unsigned[name]
	if !there || entry.Mode != git.Regular {
		return git.ZeroHash
	}
	return entry.Hash()
}

// renewals compares each renewal with the signed exception that it names. Only here can the number
// of renewals be counted. Without its predecessor, a renewal is rejected: the predecessor was
// revoked or expired long ago. It returns the predecessor of each document from the signed folder,
// or nil for a first exception. The caller must verify the signature of the predecessor.
func (l *listing) renewals(docs []*exception.Document) ([]*exception.Document, exception.Refusals, error) {
	predecessors := make([]*exception.Document, len(docs))
	var refusals exception.Refusals
	for i, doc := range docs {
		e, ok := doc.Exception()
		if !ok || e.Renews.Text == "" && e.RenewalNumber.Text == "" {
			continue
		}
		before, problem, err := l.continues(doc, e)
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
func (l *listing) continues(doc *exception.Document,
	e *exception.Exception) (predecessor *exception.Document, problem, err error) {
	said, problem := e.Renewal()
	if problem != nil {
		return nil, problem, nil
	}
	before := e.Identity
	before.Name = said.Name
	problem = fmt.Errorf("it states that it renews %s, and no such exception is signed", before)
	for _, where := range l.Where(before) {
		signed, err := documentsIn(l.tree, l.signed[where])
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
