package ledger

import (
	"cmp"
	"slices"
	"time"
)

// Sums are the totals of a report. They count verified exceptions only.
type Sums struct {
	Policies   []Count `json:"policies"`
	Namespaces []Count `json:"namespaces"`
	Owners     []Count `json:"owners"`
	// Often are the policies with at least as many open exceptions as the argument of
	// [Ledger.Sums].
	Often []Count `json:"exceptedOften"`
	// Renewals counts, by policy, the approvals that renew another exception.
	Renewals []Count `json:"renewals"`
	// Wait is the median time from the request (by Git) to the signature. Of is the number of
	// exceptions in the median. LeftOut is the number without a usable request time or signing
	// time.
	Wait    time.Duration `json:"-"`
	Of      int           `json:"-"`
	LeftOut int           `json:"-"`
	// NotCounted is the number of entries under signed/ with an invalid signature. Entries of state
	// [NotSigned] are not in it.
	NotCounted int `json:"notCounted"`
}

// Count is the number of exceptions of one name.
type Count struct {
	Name string `json:"name"`
	Open int    `json:"open"` // now
	Ever int    `json:"ever"` // all approvals, with those that left or were replaced
}

// Sums adds up the entries. often is the number of open exceptions from which a policy is listed in
// [Sums.Often]; 0 lists none.
func (l *Ledger) Sums(often int) Sums {
	s := Sums{Often: []Count{}}
	policies, namespaces, owners, renewals := counter{}, counter{}, counter{}, counter{}
	var waits []time.Duration
	for _, e := range l.Entries {
		if e.Seal == nil {
			continue
		}
		if !e.Verified {
			if e.State.Here() && e.State != NeverSigned {
				s.NotCounted++
			}
			continue
		}
		var names []string
		for _, p := range e.Policies {
			names = append(names, p.String())
		}
		policies.add(e.State, names...)
		if e.Renews != nil {
			renewals.add(e.State, names...)
		}
		namespaces.add(e.State, e.Identity.Namespace)
		owners.add(e.State, e.Said.Owner)
		if wait, ok := e.wait(); ok {
			waits = append(waits, wait)
		} else {
			s.LeftOut++
		}
	}
	s.Policies, s.Namespaces = policies.counts(), namespaces.counts()
	s.Owners, s.Renewals = owners.counts(), renewals.counts()
	for _, c := range s.Policies {
		if often > 0 && c.Open >= often {
			s.Often = append(s.Often, c)
		}
	}
	if s.Of = len(waits); s.Of > 0 {
		slices.Sort(waits)
		s.Wait = (waits[(s.Of-1)/2] + waits[s.Of/2]) / 2
	}
	return s
}

// wait returns the time from the request to the signature.
func (e *Entry) wait() (time.Duration, bool) {
	if e.Request == nil {
		return 0, false
	}
	from := e.Request.At
	if moves := e.Request.Moves; len(moves) > 0 {
		from = moves[len(moves)-1].At // the request for a signature begins with the last move
	}
	if from.IsZero() || e.Seal.SignedAt.IsZero() || e.Request.Before || from.After(e.Seal.SignedAt) {
		return 0, false
	}
	return e.Seal.SignedAt.Sub(from), true
}

type counter map[string]*Count

// add counts an entry once under each name.
func (c counter) add(state State, names ...string) {
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if c[name] == nil {
			c[name] = &Count{Name: name}
		}
		c[name].Ever++
		if state == Open {
			c[name].Open++
		}
	}
}

// counts returns the counts sorted by number, highest first.
func (c counter) counts() []Count {
	all := []Count{}
	for _, count := range c {
		all = append(all, *count)
	}
	slices.SortFunc(all, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Open, a.Open), cmp.Compare(b.Ever, a.Ever), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// States returns the number of entries per state.
func (l *Ledger) States() map[State]int {
	all := map[State]int{}
	for _, e := range l.Entries {
		all[e.State]++
	}
	return all
}
