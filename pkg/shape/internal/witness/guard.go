package witness

import "slices"

// ReachesException tries PolicyExceptions with the names that the conditions
// speak of, in the namespaces that they speak of.
func (t *Trial) ReachesException() bool {
	for _, is := range exceptionSpecies {
		for _, name := range append([]word{t.persons[0].name}, t.words...) {
			for _, namespace := range append([]word{t.persons[0].namespace}, t.words...) {
				if t.tells(facts{species: is, name: name, namespace: namespace}, func(other *facts, nth int) { other.species = t.strange(nth) }) {
					return true
				}
			}
		}
	}
	return false
}

// ReachesInto tries resources of a namespace.
func (t *Trial) ReachesInto(namespace string) bool {
	inside := slices.Clone(knownSpecies[namespaced])
	for _, kind := range t.kinds {
		if is := t.ofKind(kind, namespaced); is != nil && !slices.Contains(inside, is) {
			inside = append(inside, is)
		}
	}
	for _, is := range inside {
		for _, name := range append([]word{t.persons[0].name}, t.words...) {
			if t.tells(facts{species: is, name: name, namespace: t.known(namespace)}, func(other *facts, nth int) { other.namespace = t.persons[nth].namespace }) {
				return true
			}
		}
	}
	return false
}

// ReachesNamespace tries a namespace itself.
func (t *Trial) ReachesNamespace(namespace string) bool {
	return t.tells(facts{species: namespaceSpecies, name: t.known(namespace)}, func(other *facts, nth int) { other.name = t.persons[nth].name })
}

// tells reports whether the conditions are true of a request about one resource,
// of any operation by any kind of requester, and not of the same about others.
// Several are tried, for one of them may happen to have the letters that a
// condition asks for.
func (t *Trial) tells(one facts, differ func(other *facts, nth int)) bool {
	for _, one.operation = range allOperations {
		for _, requester := range allRequesters {
			one.sender = t.persons[0].sender(requester)
			if !t.holds(one) {
				continue
			}
			for nth := 1; nth < persons; nth++ {
				other := one
				differ(&other, nth)
				if !t.holds(other) && t.Exhausted == nil {
					return true
				}
			}
		}
	}
	return false
}
