package ledger

import (
	"cmp"
	"slices"
	"time"
)

// Sums are the totals of a report. They count verified exceptions only.
type Sums struct {
	Policies   []Count `json:"policies"`
	Rules      []Count `json:"rules"`
	Namespaces []Count `json:"namespaces"`
	Owners     []Count `json:"owners"`
	// Ages counts the verified exceptions under signed/ by the time since their signing.
	Ages []Count `json:"ages"`
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

// ages are the ranges of [Sums.Ages].
var ages = []age{{"less than 7 days", 7}, {"7 to 30 days", 30}, {"30 to 90 days", 90}, {"90 days to a year", 365}, {"more than a year", 100_000}}

type age struct {
	name string
	days int // upper limit, exclusive
}

// Sums adds up the entries. often is the number of open exceptions from which a policy is listed in
// [Sums.Often]; 0 lists none.
func (l *Ledger) Sums(often int) Sums {
	s := Sums{Often: []Count{}, Ages: make([]Count, len(ages))}
	policies, rules, namespaces, owners, renewals := counter{}, counter{}, counter{}, counter{}, counter{}
	for i, age := range ages {
		s.Ages[i].Name = age.name
	}
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
		var named, ruled []string
		for _, p := range e.Policies {
			named = append(named, p.String())
			for _, rule := range p.Rules {
				ruled = append(ruled, p.String()+"/"+rule)
			}
		}
		policies.add(e.State, named...)
		rules.add(e.State, ruled...)
		if e.Renews != nil {
			renewals.add(e.State, named...)
		}
		namespaces.add(e.State, e.Identity.Namespace)
		owners.add(e.State, e.Said.Owner)
		if e.State.Here() && !e.Seal.SignedAt.IsZero() {
			old := l.At.Sub(e.Seal.SignedAt)
			i := slices.IndexFunc(ages, func(a age) bool { return old < time.Duration(a.days)*24*time.Hour })
			s.Ages[max(i, 0)].Ever++
			if e.State == Open {
				s.Ages[max(i, 0)].Open++
			}
		}
		if wait, ok := e.wait(); ok {
			waits = append(waits, wait)
		} else {
			s.LeftOut++
		}
	}
	s.Policies, s.Rules, s.Namespaces, s.Owners = policies.counts(), rules.counts(), namespaces.counts(), owners.counts()
	s.Renewals = renewals.counts()
	if often > 0 {
		s.Often = append(s.Often, slices.DeleteFunc(slices.Clone(s.Policies), func(c Count) bool { return c.Open < often })...)
	}
	s.Of = len(waits)
	if len(waits) > 0 {
		slices.Sort(waits)
		s.Wait = waits[len(waits)/2]
		if len(waits)%2 == 0 {
			s.Wait = (waits[len(waits)/2-1] + s.Wait) / 2
		}
	}
	return s
}

// wait returns the time from the request to the signature.
func (e *Entry) wait() (time.Duration, bool) {
	if e.Request == nil {
		return 0, false
	}
	asked := e.Request.At
	if moves := e.Request.Moves; len(moves) > 0 {
		asked = moves[len(moves)-1].At // the request for a signature begins with the last move
	}
	if asked.IsZero() || e.Seal.SignedAt.IsZero() || e.Request.Before || asked.After(e.Seal.SignedAt) {
		return 0, false
	}
	return e.Seal.SignedAt.Sub(asked), true
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
	all := make([]Count, 0, len(c))
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
