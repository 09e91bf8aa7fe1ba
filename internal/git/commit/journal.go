package commit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/internal/git"
)

// journal describes a change of the clone. While its reference exists, the change may be
// incomplete.
type journal struct {
	// head is the state of the work tree before the change, commit its state afterwards.
	head   git.Head
	commit plumbing.Hash
	// filesOnly means that only the work tree changes, not the index and the branch.
	filesOnly bool
	by        git.Stamp
	what      string // text for the reflog

	edits []git.Change
	hash  plumbing.Hash // of the journal's commit
}

const (
	// journalReference names the journal of one work tree. It is not below refs/, so that a clone
	// that fetches all references of a remote cannot fetch a journal that an attacker pushed. It
	// does not protect the journal's objects from git gc: keptJournal does.
	journalReference = "POLEX_HEAD"
	keptJournal      = "journal" // below Clone.private

	journalTitle = "polex journal 1"
	wholeChange  = "branch, index and files"
	filesAlone   = "files"
)

func (c *Clone) writeJournal(j *journal) (err error) {
	scope := wholeChange
	if j.filesOnly {
		scope = filesAlone
	}
	j.hash, err = c.writeCommit(context.Background(), "make the journal", object{
		parents: []plumbing.Hash{j.head.Commit, j.commit}, by: j.by,
		change: Change{Message: strings.Join([]string{journalTitle, "", j.head.Branch.String(), scope, j.what, ""}, "\n")},
	})
	if err != nil {
		return err
	}
	return c.updateReferences("write the journal", fmt.Sprintf("update %[1]s%[2]s %[4]s\ncreate %[3]s %[4]s\n", c.private, keptJournal, journalReference, j.hash))
}

// readJournal returns nil if there is no journal.
func (c *Clone) readJournal() (*journal, error) {
	hash, err := c.Reference(journalReference)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	malformed := fmt.Errorf("its journal %s cannot be read: read git status, repair the work tree, and remove the journal: git update-ref -d %s", journalReference, journalReference)
	if err != nil {
		return nil, errors.Join(malformed, err)
	}
	found, err := c.Repository.Commit(hash)
	if err != nil {
		return nil, errors.Join(malformed, err)
	}
	lines := strings.Split(found.Message, "\n")
	if len(lines) != 6 || lines[0] != journalTitle || len(found.Parents) != 2 || lines[3] != wholeChange && lines[3] != filesAlone || git.CheckRevision(lines[2]) != nil {
		return nil, malformed
	}
	j := &journal{head: git.Head{Branch: plumbing.ReferenceName(lines[2]), Commit: found.Parents[0]}, commit: found.Parents[1],
		filesOnly: lines[3] == filesAlone, by: found.Committer, what: lines[4], hash: hash}
	if j.edits, err = c.difference(j.head.Commit, j.commit); err != nil {
		return nil, errors.Join(malformed, err)
	}
	return j, nil
}

// removeJournal removes the journal if it exists.
func (c *Clone) removeJournal() error {
	if _, err := c.Reference(journalReference); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return c.updateReferences("remove the journal", fmt.Sprintf("delete %s\ndelete %s%s\n", journalReference, c.private, keptJournal))
}

// workTrees is the prefix of this package's references in linked work trees.
const workTrees = "refs/polex/worktrees/"

// owns reports whether a reference belongs to this work tree or to a removed one. No other run
// removes the references of a removed work tree. If the object of a reference is missing, every git
// fetch and git gc fails.
func (c *Clone) owns(reference string) bool {
	if strings.HasPrefix(reference, c.private) {
		return true
	}
	rest, linked := strings.CutPrefix(reference, workTrees)
	id, _, below := strings.Cut(rest, "/")
	if !linked || !below {
		return false
	}
	_, err := os.Lstat(filepath.Join(c.shared, "worktrees", id))
	return errors.Is(err, fs.ErrNotExist)
}

// freeLocks removes the locks and empty references that a killed Git left among this package's
// references. No other program writes there, and no other run is active while this one has the
// clone.
func (c *Clone) freeLocks() error {
	err := c.own.Remove(journalReference + ".lock")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	shared, err := os.OpenRoot(c.shared)
	if err != nil {
		return err
	}
	defer shared.Close() //nolint:errcheck // only a folder
	return fs.WalkDir(shared.FS(), "refs/polex", func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !entry.Type().IsRegular() || !c.owns(path) {
			return err
		}
		info, err := entry.Info()
		if err != nil || info.Size() > 0 && !strings.HasSuffix(path, ".lock") {
			return err
		}
		return shared.Remove(path)
	})
}

// freeReferences removes the references of an interrupted run.
func (c *Clone) freeReferences() error {
	names, err := c.references()
	names = slices.DeleteFunc(names, func(name string) bool { return !c.owns(name) })
	if err != nil || len(names) == 0 {
		return err
	}
	return c.updateReferences("remove the references of an interrupted run", "delete "+strings.Join(names, "\ndelete ")+"\n")
}

// references returns this package's references of all work trees.
func (c *Clone) references() ([]string, error) {
	out, err := c.ask(call{}, "for-each-ref", "--format=%(refname)", "refs/polex")
	return strings.Fields(out), err
}

// updateReferences runs git update-ref with the commands of what, in order, or none of them.
func (c *Clone) updateReferences(step, what string) error {
	_, err := c.write(context.Background(), step, call{input: strings.NewReader(what)}, "update-ref", "--no-deref", "--stdin")
	return err
}

// difference returns the changes between the files of two commits.
func (c *Clone) difference(from, to plumbing.Hash) ([]git.Change, error) {
	before, err := c.Tree(from)
	if err != nil {
		return nil, err
	}
	after, err := c.Tree(to)
	if err != nil {
		return nil, err
	}
	var edits []git.Change
	err = git.Differences(before, after, ".", func(d git.Change) error {
		edits = append(edits, d)
		return nil
	})
	return edits, err
}
