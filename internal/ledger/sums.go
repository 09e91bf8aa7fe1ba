package ledger

import (
	"cmp"
	"maps"
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
	notCounted, policies, exempted, owners, renewals := 0, counter{}, counter{}, counter{}, counter{}
	for _, e := range l.Entries {
		switch {
		case e.Seal == nil:
			continue
		case !e.Verified:
			if e.State.Here() && e.State != NeverSigned {
				notCounted++
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
	return Sums{policies.counts(), exempted.counts(), owners.counts(), renewals.counts(), notCounted}
}

type counter map[string]Count

// add counts an entry once under each name.
func (c counter) add(state State, names ...string) {
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		count := c[name]
		count.Name = name
		if count.Ever++; state == Open {
			count.Open++
		}
		c[name] = count
	}
}

// counts returns the counts sorted by number, highest first.
func (c counter) counts() []Count {
	all := slices.AppendSeq([]Count{}, maps.Values(c))
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
