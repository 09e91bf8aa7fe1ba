package gitchange

import (
	"bytes"
	"errors"
	"fmt"
	"path"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/polex-dev/polex/internal/gittree"
)

// difference returns what leads from one commit's tree to another's. Folders
// that both have are not looked into.
func (c *Clone) difference(from, to plumbing.Hash) ([]edit, error) {
	var roots [2]plumbing.Hash
	for i, hash := range []plumbing.Hash{from, to} {
		commit, err := c.commit(hash)
		if err != nil {
			return nil, err
		}
		roots[i] = commit.TreeHash
	}
	d := differ{clone: c}
	if err := d.trees("", roots[0], roots[1]); err != nil {
		return nil, err
	}
	return d.edits, nil
}

type differ struct {
	clone *Clone
	edits []edit
}

func (d *differ) trees(dir string, from, to plumbing.Hash) error {
	if from == to {
		return nil
	}
	var sides [2]map[string]version
	var names []string
	for i, hash := range []plumbing.Hash{from, to} {
		sides[i] = map[string]version{}
		if hash.IsZero() {
			continue
		}
		tree, err := object.GetTree(d.clone.repository.Storer, hash)
		if err != nil {
			return fmt.Errorf("read tree %s: %w", hash, err)
		}
		for _, e := range tree.Entries {
			if _, met := sides[0][e.Name]; !met || i == 0 {
				names = append(names, e.Name)
			}
			sides[i][e.Name] = version{Mode: e.Mode, Hash: e.Hash}
		}
	}
	for _, name := range names {
		if err := d.entry(path.Join(dir, name), sides[0][name], sides[1][name]); err != nil {
			return err
		}
	}
	return nil
}

func (d *differ) entry(name string, from, to version) error {
	if from == to {
		return nil
	}
	if len(d.edits) > gittree.MaxEntries {
		return fmt.Errorf("more than %d files differ", gittree.MaxEntries)
	}
	var below [2]plumbing.Hash
	for i, v := range []*version{&from, &to} {
		if v.Mode == filemode.Dir {
			below[i], *v = v.Hash, version{}
		}
	}
	if err := d.trees(name, below[0], below[1]); err != nil {
		return err
	}
	if !from.absent() || !to.absent() {
		d.edits = append(d.edits, edit{Path: name, Old: from, New: to})
	}
	return nil
}

// plainlyWritten refuses edits whose files are not in the work tree as they are
// in the repository: submodules, and what Git hands to a filter.
func (c *Clone) plainlyWritten(commit plumbing.Hash, edits []edit) error {
	tree, err := c.Tree(commit)
	if err != nil {
		return err
	}
	looked := map[string]bool{}
	for _, e := range edits {
		for _, v := range []version{e.Old, e.New} {
			if v.Mode == filemode.Submodule {
				return fmt.Errorf("%q is a submodule", e.Path)
			}
		}
		for dir := path.Dir(e.Path); !looked[dir]; dir = path.Dir(dir) {
			looked[dir] = true
			if err := checkAttributes(tree, path.Join(dir, ".gitattributes")); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkAttributes(tree *gittree.Tree, name string) error {
	entry, err := tree.Find(name)
	if err != nil || !entry.IsFile() {
		return nil //nolint:nilerr // there is none
	}
	content, err := tree.Read(entry)
	if err != nil {
		return err
	}
	for _, attribute := range []string{"filter=", "working-tree-encoding="} {
		if bytes.Contains(content, []byte(attribute)) {
			return fmt.Errorf("%s: %w", name, errors.New("files are written through a filter"))
		}
	}
	return nil
}
