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

// journal is what is about to be done to the clone. While its reference is there, it is
// not known how much of it was.
type journal struct {
	// head is where the work tree was, and commit what it is to have.
	head   git.Head
	commit plumbing.Hash
	// filesOnly says that only the work tree is changed, and that the index and the branch
	// are left as they are.
	filesOnly bool
	by        git.Stamp
	what      string // for the reflog

	edits []git.Change
	hash  plumbing.Hash // of the commit that is the journal
}

const (
	// journalReference names the journal. It belongs to one work tree, and is not below refs/:
	// a clone that fetches every reference of a remote would fetch a journal that somebody has
	// pushed. Therefore it does not keep git gc from the journal's objects: keptJournal does.
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

// readJournal returns nil where there is none.
func (c *Clone) readJournal() (*journal, error) {
	hash, err := c.Reference(journalReference)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	malformed := fmt.Errorf("its journal %s cannot be read: look at git status, put the work tree right, and remove it: git update-ref -d %s", journalReference, journalReference)
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

// removeJournal removes the journal, if it is there.
func (c *Clone) removeJournal() error {
	if _, err := c.Reference(journalReference); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return c.updateReferences("remove the journal", fmt.Sprintf("delete %s\ndelete %s%s\n", journalReference, c.private, keptJournal))
}

// workTrees is what the names of this package's references begin with in linked work trees.
const workTrees = "refs/polex/worktrees/"

// owns reports whether a reference belongs to this work tree, or to one that was removed: no
// run would end what that one has begun, and a reference whose object is gone stops every git
// fetch and git gc.
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

// freeLocks removes what a Git that was killed with its run has left at this package's
// references: its locks, and references without content. Nothing else writes there, and no
// run does while this one has the clone.
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

// freeReferences removes the references that a run which was cut off has left.
func (c *Clone) freeReferences() error {
	names, err := c.references()
	names = slices.DeleteFunc(names, func(name string) bool { return !c.owns(name) })
	if err != nil || len(names) == 0 {
		return err
	}
	return c.updateReferences("remove the references of a run that was cut off", "delete "+strings.Join(names, "\ndelete ")+"\n")
}

// references are the references of this package, of all work trees.
func (c *Clone) references() ([]string, error) {
	out, err := c.ask(call{}, "for-each-ref", "--format=%(refname)", "refs/polex")
	return strings.Fields(out), err
}

// updateReferences does what git update-ref reads from its input, in that order, or nothing.
func (c *Clone) updateReferences(step, what string) error {
	_, err := c.write(context.Background(), step, call{input: strings.NewReader(what)}, "update-ref", "--no-deref", "--stdin")
	return err
}

// difference is what leads from one commit's files to another's.
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
