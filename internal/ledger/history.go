package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/internal/promotion/commitmessage"
	"github.com/polex-dev/polex/pkg/exception"
)

// step is a commit with its changes in the two folders.
type step struct {
	commit   *git.Commit // without its message
	trailers []commitmessage.Line
	at       time.Time // never before the time of the previous step
	cut      bool      // its parents are missing (shallow clone)
	beside   bool      // merged into the line
	changes  []change
}

// event returns the commit of the step as an event.
func (s *step) event() Event { return eventOf(s.commit) }

// eventOf returns the event with the committer: the committer added the commit to the branch.
func eventOf(c *git.Commit) Event {
	return Event{c.Hash.String(), person(c.Committer), inUTC(c.Committer.When)}
}

func person(s git.Stamp) string { return short(s.Name + " <" + s.Email + ">") }

// history reads the line from the tip on, and the commits that were merged into it.
func (r *reading) history(tip git.Hash) error {
	cuts, err := r.repository.Shallow()
	if err != nil {
		return err
	}
	for _, hash := range cuts {
		r.cuts[hash] = true
	}
	for hash := tip; ; {
		s, err := r.step(hash)
		if err != nil {
			return err
		}
		r.line = append(r.line, s)
		if s.cut || len(s.commit.Parents) == 0 {
			break
		}
		hash = s.commit.Parents[0]
	}
	slices.Reverse(r.line)
	r.clocks()
	if !r.At.IsZero() {
		r.line = slices.DeleteFunc(r.line, func(s *step) bool { return s.at.After(r.At) })
	}
	if len(r.line) == 0 {
		return nil
	}
	last := r.line[len(r.line)-1].commit
	r.ledger.Tip, r.ledger.Root = last.Hash.String(), r.line[0].commit.Hash.String()
	r.ledger.Commits, r.ledger.Shallow = len(r.line), r.line[0].cut
	if err := r.sides(); err != nil {
		return err
	}
	return r.changes()
}

func (r *reading) step(hash git.Hash) (*step, error) {
	n := len(r.line) + len(r.beside)
	if n >= MaxCommits {
		return nil, tooMuch(MaxCommits, "commits")
	}
	if n%500 == 0 {
		r.Progress("reading commits", n, 0)
	}
	c, err := r.repository.Commit(hash)
	if err != nil {
		return nil, err
	}
	s := &step{commit: c, cut: r.cuts[hash], trailers: commitmessage.Read(c.Message)}
	c.Message = ""
	r.known[hash] = c
	return s, nil
}

// clocks sets the time of every step of the line, and adds a finding if commit times are
// implausible.
func (r *reading) clocks() {
	var last time.Time
	skewed, first := 0, ""
	for _, s := range r.line {
		when := s.commit.Committer.When
		if when.IsZero() || when.After(r.Now.Add(clockSkew)) || when.Before(last.Add(-clockSkew)) {
			if skewed++; first == "" {
				first = s.commit.Hash.String()
			}
		}
		if when.After(last) && !when.After(r.Now.Add(clockSkew)) {
			last = when
		}
		s.at = last
	}
	if skewed > 0 {
		r.find(Finding{Kind: ClockSkew, Commit: first,
			Message: plain.Count(skewed, "commit is", "commits are") + " by its author's clock before its parent, " +
				"in the future, or without a time: the time of its parent is used",
			Hint: "days by Git may be wrong by that much; signing times are proven"})
	}
}

// changes reads the changes of every step, newest first. Git stores an older tree as its difference
// from a newer one, so this order is faster.
func (r *reading) changes() error {
	steps := slices.Concat(r.beside, r.line)
	slices.Reverse(steps)
	for i, s := range steps {
		if i%100 == 0 {
			r.Progress("reading what they change", i, len(steps))
		}
		if err := r.differences(s); err != nil {
			return fmt.Errorf("commit %s: %w", s.commit.Hash, err)
		}
	}
	return nil
}

func (r *reading) differences(s *step) error {
	merge := len(s.commit.Parents) > 1 && !s.cut
	var before *git.Tree
	if !s.cut && len(s.commit.Parents) > 0 {
		parent := r.known[s.commit.Parents[0]]
		if parent == nil {
			var err error
			if parent, err = r.repository.Commit(s.commit.Parents[0]); err != nil {
				return err
			}
		}
		before = r.repository.TreeOf(parent)
	}
	for _, folder := range []string{r.Unsigned, r.Signed} {
		signed := folder == r.Signed
		err := git.Differences(before, r.repository.TreeOf(s.commit), folder, func(d git.Change) error {
			if !exception.HoldsDocuments(d.Path) {
				return nil
			}
			c := change{Path: d.Path, Old: contentOf(d.Old, signed), New: contentOf(d.New, signed)}
			if merge && !signed && !c.New.Hash.IsZero() {
				c.Origin = r.origin(s.commit.Parents[1], d.Path, c.New)
			}
			s.changes = append(s.changes, c)
			if r.changed++; r.changed > MaxChanges {
				return tooMuch(MaxChanges, "changes")
			}
			return r.take(s, c.New)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// origin follows the merged branch back to the first commit that contains the file in its merged
// form: the author of that commit wrote it. It returns a zero hash if a commit or a folder cannot be
// read, or if maxOrigin is reached.
func (r *reading) origin(from git.Hash, name string, want content) git.Hash {
	var origin git.Hash
	for range maxOrigin {
		c, err := r.repository.Commit(from)
		if err != nil {
			return git.ZeroHash // the line is cut off there
		}
		entry, err := r.repository.TreeOf(c).Find(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return git.ZeroHash // too deep, for example
		}
		if contentOf(entry, want.Signed) != want {
			return origin
		}
		origin = from
		if len(c.Parents) == 0 {
			return origin
		}
		from = c.Parents[0]
	}
	return git.ZeroHash
}

// content is the content of a path: an object, and whether it is a regular file. The same object can be under
// signed/ and under unsigned/, and only documents under signed/ are verified.
type content struct {
	Hash         git.Hash
	File, Signed bool
}

func contentOf(e git.Entry, signed bool) content { return content{e.Hash(), e.IsFile(), signed} }

// change is the change of one path in a step. If the step is a merge, Origin is the commit that
// wrote the file.
type change struct {
	Path     string
	Old, New content
	Origin   git.Hash
}

// sides reads the commits that were merged into the line, and checks that Options.Seen is part of
// the history.
func (r *reading) sides() error {
	seen := map[git.Hash]bool{}
	var waiting []git.Hash
	for _, s := range r.line {
		seen[s.commit.Hash] = true
	}
	for _, s := range r.line {
		if !s.cut && len(s.commit.Parents) > 1 {
			waiting = append(waiting, s.commit.Parents[1:]...)
		}
	}
	for len(waiting) > 0 {
		hash := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		if seen[hash] {
			continue
		}
		seen[hash] = true
		s, err := r.step(hash)
		if err != nil {
			return err
		}
		s.beside = true
		r.beside = append(r.beside, s)
		if s.cut {
			r.ledger.Shallow = true
			continue
		}
		waiting = append(waiting, s.commit.Parents...)
	}
	r.ledger.Merged = len(r.beside)
	if r.Seen.IsZero() || seen[r.Seen] || !r.At.IsZero() {
		return nil
	}
	message := "the history does not contain the commit %s, the last of an earlier report: " +
		"the history was rewritten, or this is another branch"
	if r.ledger.Shallow {
		message = "polex cannot tell whether the history contains the commit %s, the last of an earlier report: " +
			"the clone is shallow"
	}
	r.find(Finding{Kind: Rewritten, Commit: r.Seen.String(), Message: fmt.Sprintf(message, r.Seen),
		Hint: "ask who pushed with force, and why; other clones still have the old branch"})
	return nil
}
