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

// ErrMoved means that HEAD moved after polex prepared the change.
var ErrMoved = errors.New("HEAD has moved meanwhile: run it again")

// apply changes the clone as the journal describes: the work tree, index and branch, or only the
// work tree. If a step fails before the branch moves, apply restores the previous state.
func (c *Clone) apply(j *journal) error {
	return c.locked(func() error {
		// Find conflicts before anything changes.
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
			return fmt.Errorf("the commit %s exists, and the work tree is not fully updated; the next run completes it: %w", j.commit, err)
		}
		return errors.Join(err, c.bring(j, head.Commit))
	})
}

// prepare does the read-only part of apply.
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

// recover completes or undoes an interrupted run, and returns a sentence about it.
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
	// HEAD decides: it shows whether the branch of the interrupted run has moved.
	target, said := head.Commit, "undid the changes of an interrupted run"
	switch {
	case j.filesOnly && head == j.head:
		target, said = j.commit, "finished the changes of an interrupted run"
	case !j.filesOnly && (head == j.head || head.Commit == j.commit):
		target, said = j.commit, fmt.Sprintf("finished the commit %s of an interrupted run", j.commit)
	}
	err = c.locked(func() error { return c.bring(j, target) })
	if err == nil {
		err = c.freeReferences()
	}
	if err != nil {
		return "", fmt.Errorf("%w: read git status, repair the work tree, and run it again", err)
	}
	return said, nil
}

// bring sets every path of a journal to its version in a commit, from any intermediate state, and
// removes the journal.
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

// plan lists the remaining steps for the paths of a journal.
type plan struct {
	target       plumbing.Hash
	come         []string // write to the index and the work tree
	leave, unset []string // remove from the work tree, and from the index
}

// plan compares the work tree and the copy of the index with a journal. Any content other than the
// old, new or target version is an error and stays unchanged. With cutOff, an incomplete file that
// contains the beginning of a version also counts.
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
			return nil, fmt.Errorf("%q is staged with different content: commit the change or undo it", e.Path)
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

// carryOut performs the plan. It syncs the new files to disk before it removes old ones.
func (c *Clone) carryOut(j *journal, p *plan) error {
	ctx := context.Background() // cancellation would leave half of the change
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

// moveTo moves the branch to the commit of the journal, if the branch has not moved yet, and then
// replaces the index.
func (c *Clone) moveTo(ctx context.Context, j *journal, p *plan) error {
	if len(p.unset) > 0 {
		if _, err := c.write(ctx, "remove files from the index", c.onCopy(call{input: list(p.unset)}), "update-index", "--force-remove", "-z", "--stdin"); err != nil {
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
