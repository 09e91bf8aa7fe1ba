package trust

import (
	"fmt"
	"math/bits"
	"slices"
)

// MaxSigners is the most signers of one document: a seal carries no more
// signatures.
const MaxSigners = 8

// Assign finds for each signer the authority that it counts for, so that the
// threshold and every group are met. candidates says of each signer whom it may
// stand for. A signer counts for one authority at most, and an authority is
// counted once. If there is such an assignment, one that counts the most signers
// is returned, nil for a signer that counts for nobody; otherwise lacking says
// what cannot be met, beside the most that can be counted.
func (p *Policy) Assign(candidates [][]*Authority) (counted []*Authority, enough bool, lacking string) {
	if len(candidates) > MaxSigners {
		return nil, false, fmt.Sprintf("%d signers are more than %d", len(candidates), MaxSigners)
	}
	if counted, ok := p.best(candidates); ok {
		return counted, true, ""
	}
	counted, _ = (&Policy{authorities: p.authorities}).best(candidates)
	return counted, false, p.lacking(candidates)
}

// best tries the number of signers that count from the highest on.
func (p *Policy) best(candidates [][]*Authority) (counted []*Authority, ok bool) {
	slots := p.slots(candidates)
	for atLeast := len(candidates); atLeast >= p.threshold; atLeast-- {
		s := search{slots: slots, signers: len(candidates), atLeast: atLeast, failed: map[spot]bool{}, taken: make([]int, len(slots))}
		if s.from(spot{}) {
			return s.counted(), true
		}
	}
	return nil, false
}

// lacking says what keeps the signers from being enough: the first of the groups
// and the threshold that they cannot meet even on its own.
func (p *Policy) lacking(candidates [][]*Authority) string {
	for _, g := range p.groups {
		if n := most(g.Authorities, candidates); n < g.Threshold {
			return fmt.Sprintf("%d of the group %q signed it, and %d have to", n, g.Name, g.Threshold)
		}
	}
	if n := most(p.authorities, candidates); n < p.threshold {
		return fmt.Sprintf("%d of the authorities signed it, and %d have to", n, p.threshold)
	}
	return "its signers do not satisfy all groups at once"
}

// most returns how many signers can count for some authorities, when nothing else
// is asked.
func most(authorities []*Authority, candidates [][]*Authority) int {
	counted, _ := (&Policy{authorities: authorities}).best(candidates)
	return len(slices.DeleteFunc(counted, func(a *Authority) bool { return a == nil }))
}

// slot is an authority, for which at most one signer counts.
type slot struct {
	authority *Authority
	may       [MaxSigners]bool // by signer
	// closes is set at the last authority of a group, of which need have to be
	// counted by then.
	closes bool
	need   int
}

// slots puts the authorities of a group together. One that is in none is a group
// of its own that needs nobody.
func (p *Policy) slots(candidates [][]*Authority) []slot {
	var slots []slot
	add := func(a *Authority) {
		s := slot{authority: a}
		for signer, may := range candidates {
			s.may[signer] = slices.Contains(may, a)
		}
		slots = append(slots, s)
	}
	grouped := map[*Authority]bool{}
	for _, g := range p.groups {
		for _, a := range g.Authorities {
			grouped[a] = true
			add(a)
		}
		slots[len(slots)-1].closes, slots[len(slots)-1].need = true, g.Threshold
	}
	for _, a := range p.authorities {
		if !grouped[a] {
			add(a)
			slots[len(slots)-1].closes = true
		}
	}
	return slots
}

// search tries each slot with every signer and with none. What failed once is
// not tried again, so that there is an end: for each slot there are no more than
// 256 sets of signers and 9 counts.
type search struct {
	slots   []slot
	signers int
	atLeast int
	failed  map[spot]bool
	taken   []int // by slot: the signer, or -1
}

// spot is all that the rest of a search depends on.
type spot struct {
	slot    int
	used    uint8 // the signers that count already, a bit each
	inGroup int   // how many of them in the group at hand
}

func (s *search) from(at spot) bool {
	if at.slot == len(s.slots) {
		return bits.OnesCount8(at.used) >= s.atLeast
	}
	if s.failed[at] {
		return false
	}
	for signer := range s.signers {
		if bit := uint8(1) << signer; s.slots[at.slot].may[signer] && at.used&bit == 0 &&
			s.take(at, signer, spot{used: at.used | bit, inGroup: at.inGroup + 1}) {
			return true
		}
	}
	if s.take(at, -1, spot{used: at.used, inGroup: at.inGroup}) {
		return true
	}
	s.failed[at] = true
	return false
}

func (s *search) take(at spot, signer int, next spot) bool {
	if slot := s.slots[at.slot]; slot.closes {
		if next.inGroup < slot.need {
			return false
		}
		next.inGroup = 0
	}
	s.taken[at.slot] = signer
	next.slot = at.slot + 1
	return s.from(next)
}

func (s *search) counted() []*Authority {
	counted := make([]*Authority, s.signers)
	for i, signer := range s.taken {
		if signer >= 0 {
			counted[signer] = s.slots[i].authority
		}
	}
	return counted
}
