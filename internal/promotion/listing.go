package promotion

import (
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/promotion/pending"
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
	if err := walk(tree, q.options.Unsigned, func(entry git.Entry) error {
		l.unsigned[entry.Path] = entry
		return nil
	}); err != nil {
		return nil, err
	}
	return l, walk(tree, q.options.Signed, func(entry git.Entry) error {
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
