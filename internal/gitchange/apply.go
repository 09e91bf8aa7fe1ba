package gitchange

import (
	"errors"
	"fmt"
	"io/fs"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// ErrMoved says that HEAD is no longer where it was when the change was made.
var ErrMoved = errors.New("HEAD has moved meanwhile: run it again")

// apply brings the clone to where the journal says: work tree, index and branch,
// or the work tree alone. When a step fails before the branch has moved,
// everything is put back as it was.
func (c *Clone) apply(j *journal) error {
	// What is in the way is better met before anything was touched.
	for _, e := range j.Edits {
		// The journal is JSON, which would write it as another path.
		if !utf8.ValidString(e.Path) {
			return fmt.Errorf("%q: the path is not UTF-8: %w", e.Path, ErrInTheWay)
		}
		if found, err := c.onDisk(e.Path); err != nil || found != e.Old && found != e.New {
			return fmt.Errorf("%q: %w", e.Path, errors.Join(err, ErrInTheWay))
		}
	}
	if err := c.writeJournal(j); err != nil {
		return errors.Join(err, c.removeJournal())
	}
	err := c.advance(j)
	if err == nil {
		return c.removeJournal()
	}
	if head, headErr := c.Head(); headErr == nil && !j.Commit.IsZero() && head.Commit == j.Commit {
		return fmt.Errorf("the commit %s is made, and the work tree has not all of it yet; the next run finishes that: %w", j.Commit, err)
	}
	return errors.Join(err, c.settle(j))
}

// advance does what the journal says, from wherever a run before it has come to.
func (c *Clone) advance(j *journal) (err error) {
	var x *index
	var indexLock, referenceLock *gitLock
	defer func() { err = errors.Join(err, referenceLock.release(), indexLock.release()) }()
	if !j.Commit.IsZero() {
		if indexLock, err = c.takeLock(c.own, "index", mineIndex); err != nil {
			return err
		}
		if referenceLock, err = c.takeLock(c.referenceRoot(j.Branch), j.Branch.String(), mineReference); err != nil {
			return err
		}
	}
	// Under the locks, nobody who keeps Git's rules moves them any more.
	if head, err := c.Head(); err != nil || head != (Head{Branch: j.Branch, Commit: j.Base}) {
		return errors.Join(err, ErrMoved)
	}
	if indexLock != nil {
		if x, err = c.readIndex(); err != nil {
			return err
		}
		if err := x.expect(j.Edits); err != nil {
			return err
		}
	}
	for _, e := range j.Edits {
		if !e.New.absent() {
			if err := c.put(e.Path, e.Old, e.New); err != nil {
				return err
			}
		}
	}
	if indexLock != nil {
		for _, e := range j.Edits {
			stat, owner := c.noted(e.Path)
			x.set(e.Path, e.New, stat, owner)
		}
		if err := indexLock.replace(x.encode()); err != nil {
			return err
		}
		if err := referenceLock.replace([]byte(j.Commit.String() + "\n")); err != nil {
			return err
		}
		if err := c.logMove(j); err != nil {
			return err
		}
	}
	// Nothing is removed before what replaces it is there to stay.
	for _, e := range j.Edits {
		if e.New.absent() {
			if err := c.put(e.Path, e.Old, e.New); err != nil {
				return err
			}
		}
	}
	return nil
}

// expect refuses an index in which somebody has staged something for a path.
func (x *index) expect(edits []edit) error {
	for _, e := range edits {
		if found := x.lookup(e.Path); found != e.Old && found != e.New {
			return fmt.Errorf("%q is staged in another version: commit the change or undo it", e.Path)
		}
	}
	return nil
}

// settle ends a journal by giving every path of it what HEAD has there, in work
// tree and index: HEAD is what counts, whether the change has reached it or not.
// What is neither the old nor the new version is left alone, and is an error.
func (c *Clone) settle(j *journal) (err error) {
	head, err := c.Head()
	if err != nil {
		return err
	}
	tree, err := c.Tree(head.Commit)
	if err != nil {
		return err
	}
	wanted := make([]version, len(j.Edits))
	for i, e := range j.Edits {
		if wanted[i], err = versionIn(tree, e.Path); err != nil {
			return err
		}
	}
	if !j.Commit.IsZero() {
		if err := c.settleIndex(j, wanted); err != nil {
			return err
		}
	}
	// What comes goes before what leaves, as ever.
	for _, leaves := range []bool{false, true} {
		for i, e := range j.Edits {
			if wanted[i].absent() != leaves {
				continue
			}
			if err := c.settlePath(e, wanted[i]); err != nil {
				return fmt.Errorf("%w: look at git status, put it right, and run it again", err)
			}
		}
	}
	if head.Commit == j.Commit {
		if err := c.logMove(j); err != nil {
			return err
		}
	}
	return c.removeJournal()
}

func (c *Clone) settlePath(e edit, want version) error {
	was := e.Old
	if found, err := c.onDisk(e.Path); err == nil && found == e.New {
		was = e.New
	}
	return c.put(e.Path, was, want)
}

func (c *Clone) settleIndex(j *journal, wanted []version) (err error) {
	// Whoever holds the lock is no hindrance where there is nothing to do.
	if x, err := c.readIndex(); err != nil || x.holds(j, wanted) {
		return err
	}
	lock, err := c.takeLock(c.own, "index", mineIndex)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.release()) }()
	x, err := c.readIndex()
	if err != nil {
		return err
	}
	for i, e := range j.Edits {
		found := x.lookup(e.Path)
		if found == wanted[i] {
			continue
		}
		if found != e.Old && found != e.New {
			return fmt.Errorf("%q is staged in another version: commit the change or undo it", e.Path)
		}
		x.set(e.Path, wanted[i], [indexMode]byte{}, [12]byte{})
	}
	return lock.replace(x.encode())
}

// holds reports whether every path of a journal is in the index as wanted.
func (x *index) holds(j *journal, wanted []version) bool {
	for i, e := range j.Edits {
		if x.lookup(e.Path) != wanted[i] {
			return false
		}
	}
	return true
}

// recover ends what an earlier run has begun, and says so.
func (c *Clone) recover() (string, error) {
	if err := c.own.Remove(journalNew); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	j, err := c.readJournal()
	if err != nil || j == nil {
		return "", err
	}
	if err := errors.Join(c.freeLock(c.own, "index", mineIndex), c.freeLock(c.referenceRoot(j.Branch), j.Branch.String(), mineReference)); err != nil {
		return "", err
	}
	head, err := c.Head()
	if err != nil {
		return "", err
	}
	begun := head.Branch == j.Branch && head.Commit == j.Base && (j.Commit.IsZero() || c.has(j.Commit))
	if begun {
		if err := c.advance(j); err != nil {
			return "", errors.Join(err, c.settle(j))
		}
		return finished(j), c.removeJournal()
	}
	if err := c.settle(j); err != nil {
		return "", err
	}
	if !j.Commit.IsZero() && head.Commit == j.Commit {
		return finished(j), nil
	}
	return "took back what a run that was cut off had begun", nil
}

func finished(j *journal) string {
	if j.Commit.IsZero() {
		return "finished what a run that was cut off had begun"
	}
	return fmt.Sprintf("finished the commit %s of a run that was cut off", j.Commit)
}

// has reports whether a commit is there.
func (c *Clone) has(commit plumbing.Hash) bool {
	_, err := object.GetCommit(c.repository.Storer, commit)
	return err == nil
}
