package ledger

import (
	"fmt"

	"github.com/polex-dev/polex/internal/git"
)

// sides reads the commits that were merged into the line, and checks that Options.Seen is part of
// the history.
func (r *reading) sides(cut map[git.Hash]bool) error {
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
		s, err := r.step(hash, cut)
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
