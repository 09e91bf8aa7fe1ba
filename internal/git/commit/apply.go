package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/internal/git"
)

// ErrMoved says that HEAD is no longer where it was when the change was made.
var ErrMoved = errors.New("HEAD has moved meanwhile: run it again")

// apply brings the clone to where the journal says: work tree, index and branch,
// or the work tree alone. When a step fails before the branch has moved,
// everything is put back as it was.
func (c *Clone) apply(j *journal) error {
	return c.locked(func() error {
		// What is in the way is better met before anything was touched.
		plan, err := c.prepare(j)
		if err != nil {
			return err
		}
		if err := c.writeJournal(j); err != nil {
			return errors.Join(err, c.removeJournal())
		}
		err = c.carryOut(j, plan)
		if err == nil {
			return c.removeJournal()
		}
		head, headErr := c.Head()
		switch {
		case headErr != nil:
			return errors.Join(err, headErr)
		case !j.filesOnly && head.Commit == j.commit:
			return fmt.Errorf("the commit %s is made, and the work tree has not all of it yet; the next run finishes that: %w", j.commit, err)
		}
		return errors.Join(err, c.bring(j, head.Commit))
	})
}

// prepare is the part of apply that changes nothing.
func (c *Clone) prepare(j *journal) (_ *plan, err error) {
	if j.edits, err = c.difference(j.head.Commit, j.commit); err != nil {
		return nil, err
	}
	if head, err := c.Head(); err != nil || head != j.head {
		return nil, errors.Join(err, ErrMoved)
	}
	if err := c.copyIndex(); err != nil {
		return nil, err
	}
	return c.plan(j, j.commit, false)
}

// recover ends what an earlier run has begun, and says so.
func (c *Clone) recover() (string, error) {
	if err := c.freeLocks(); err != nil {
		return "", err
	}
	j, err := c.readJournal()
	if err != nil || j == nil {
		return "", errors.Join(err, c.freeIndex(), c.freeReferences())
	}
	head, err := c.Head()
	if err != nil {
		return "", err
	}
	// HEAD is what counts, whether the change has reached it or not.
	target, said := head.Commit, "undid the changes of an interrupted run"
	switch {
	case j.filesOnly && head == j.head:
		target, said = j.commit, "finished the changes of an interrupted run"
	case !j.filesOnly && (head == j.head || head.Commit == j.commit):
		target, said = j.commit, fmt.Sprintf("finished the commit %s of a run that was cut off", j.commit)
	}
	err = c.locked(func() error { return c.bring(j, target) })
	if err == nil {
		err = c.freeReferences()
	}
	if err != nil {
		return "", fmt.Errorf("%w: look at git status, put it right, and run it again", err)
	}
	return said, nil
}

// bring gives every path of a journal what a commit has there, from wherever a run has come
// to, and ends the journal.
func (c *Clone) bring(j *journal, target plumbing.Hash) error {
	if err := c.copyIndex(); err != nil {
		return err
	}
	plan, err := c.plan(j, target, true)
	if err == nil {
		err = c.carryOut(j, plan)
	}
	if err != nil {
		return err
	}
	return c.removeJournal()
}

// plan is what is left to be done to the paths of a journal.
type plan struct {
	target       plumbing.Hash
	come         []string // to the index and the work tree
	leave, unset []string // the work tree, and the index
}

// plan holds the work tree and the copy of the index against a journal. What is neither the
// old nor the new version, nor that of the target, is left alone, and is an error. After a
// run that was cut off, the beginning of one counts for it.
func (c *Clone) plan(j *journal, target plumbing.Hash, cutOff bool) (*plan, error) {
	tree, err := c.Tree(target)
	if err != nil {
		return nil, err
	}
	staged, err := c.staged(j.head.Commit)
	if err != nil {
		return nil, err
	}
	p := &plan{target: target}
	for _, e := range j.edits {
		want, err := tree.At(e.Path)
		if err != nil {
			return nil, err
		}
		versions := []git.Entry{want, e.Old, e.New}
		found, err := c.onDisk(e.Path, versions...)
		broken := errors.Is(err, ErrInTheWay) && cutOff && c.begun(e.Path, versions...)
		if err != nil && !broken {
			return nil, err
		}
		noted, known := staged[e.Path]
		if !known {
			noted = e.Old
		}
		if !slices.Contains(versions, noted) {
			return nil, fmt.Errorf("%q is staged in another version: commit the change or undo it", e.Path)
		}
		switch {
		case !want.Absent() && (broken || found != want || noted != want):
			p.come = append(p.come, e.Path)
		case want.Absent() && !found.Absent() || broken:
			p.leave = append(p.leave, e.Path)
		}
		if want.Absent() && !noted.Absent() {
			p.unset = append(p.unset, e.Path)
		}
	}
	return p, nil
}

// carryOut does what is left. Nothing is removed before what replaces it is there to stay.
func (c *Clone) carryOut(j *journal, p *plan) error {
	ctx := context.Background() // half of it is no use
	if len(p.come) > 0 {
		if _, err := c.write(ctx, "write the files", c.onCopy(call{input: list(p.come)}),
			"checkout", "--quiet", "--no-guess", "--overlay", "--pathspec-from-file=-", "--pathspec-file-nul", p.target.String()+"^{commit}"); err != nil {
			return err
		}
		if err := c.do("sync the files", func() error { return c.sync(p.come) }); err != nil {
			return err
		}
	}
	if !j.filesOnly {
		if err := c.moveTo(ctx, j, p); err != nil {
			return err
		}
	}
	for _, name := range p.leave {
		if err := c.removeFile(name); err != nil {
			return err
		}
	}
	return nil
}

// moveTo moves the branch from where the journal has it to the commit of a plan, where that
// is another, and the index with it.
func (c *Clone) moveTo(ctx context.Context, j *journal, p *plan) error {
	if len(p.unset) > 0 {
		if _, err := c.write(ctx, "take files out of the index", c.onCopy(call{input: list(p.unset)}), "update-index", "--force-remove", "-z", "--stdin"); err != nil {
			return err
		}
	}
	head, err := c.Head()
	if err != nil {
		return err
	}
	if head == j.head && p.target == j.commit {
		if _, err := c.write(ctx, "move "+head.Branch.String(), call{env: named(j.by)},
			"update-ref", "--no-deref", "-m", j.what, "--", head.Branch.String(), p.target.String(), head.Commit.String()); err != nil {
			return err
		}
	}
	if len(p.come)+len(p.unset) == 0 {
		return nil
	}
	return c.replaceIndex()
}

func list(names []string) *strings.Reader {
	return strings.NewReader(strings.Join(names, "\x00") + "\x00")
}
