package ledger

import (
	"cmp"
	"slices"
)

// Sums are the totals of a report. They count verified exceptions only.
type Sums struct {
	Policies []Count `json:"policies"`
	// Exempted counts by the namespaces in which exceptions exempt; "*" is any.
	Exempted []Count `json:"namespaces"`
	Owners   []Count `json:"owners"`
	// Renewals counts, by policy, the approvals that renew another exception.
	Renewals []Count `json:"renewals"`
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

// Sums adds up the entries.
func (l *Ledger) Sums() Sums {
	s := Sums{}
	policies, exempted, owners, renewals := counter{}, counter{}, counter{}, counter{}
	for _, e := range l.Entries {
		switch {
		case e.Seal == nil:
			continue
		case !e.Verified:
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
		var namespaces []string
		for _, x := range e.Exempted {
			namespaces = append(namespaces, x.Namespaces...)
		}
		exempted.add(e.State, namespaces...)
		owners.add(e.State, e.Said.Owner)
	}
	s.Policies, s.Exempted = policies.counts(), exempted.counts()
	s.Owners, s.Renewals = owners.counts(), renewals.counts()
	return s
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
