package shape

import (
	"fmt"
	"iter"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
)

// ReasonDuplicateIdentity is a reason of findings.
const ReasonDuplicateIdentity = "duplicate-identity"

var duplicateIdentityCheck = check{
	About: "Finds two documents that are the same object to the API server. The document that is applied last wins, " +
		"and the order depends on the tool. A second document can undo the one that was reviewed.",
	Reasons: []Reason{{Name: ReasonDuplicateIdentity, Doc: "two documents are the same object to the API server",
		Fixed: true}},
}

// Set compares the exceptions of a run with each other and with the live ones. It finds documents that are one object
// to the API server, exceptions that exempt the same resource from the same rule, and those that take the place of a
// live one. The zero value is empty and ready; it is not for several goroutines at once.
type Set struct {
	// Thorough compares an exception with all others that may exempt the same, instead of
	// 100. It is for callers that reject overlaps. An exception that takes too long to
	// compare counts as overlapping.
	Thorough bool
	// Terms are those of the trust policy, which define the expiry of an exception.
	Terms lifetime.Terms

	members   []*member
	met, live map[exception.IdentityKey]int // numbers of members
	index     memberIndex
	now       time.Time
}

// Live adds the live exceptions, such as those in signed/. Documents that are added later are compared with them; they
// get no findings themselves. A duration that an exception states counts from now.
func (s *Set) Live(docs iter.Seq[*exception.Document], now time.Time) {
	s.now = now
	for d := range docs {
		e, of := read(d)
		if e == nil {
			continue
		}
		if s.live == nil {
			s.live = map[exception.IdentityKey]int{}
		}
		m := newMember(d, e, of, s.Terms, time.Time{}) // the duration of a live one counted from its signing
		m.live = true
		s.live[m.id.Key()] = s.remember(m)
	}
}

// Add adds a document to the set and returns its findings against the documents that are there already.
func (s *Set) Add(d *exception.Document) []Finding {
	if s.met == nil {
		s.met = map[exception.IdentityKey]int{}
	}
	key := d.Identity().Key()
	if first, again := s.met[key]; again {
		return findingIn(d, ReasonDuplicateIdentity, exception.Path{"metadata", "name"}, "keep one of the two",
			"%q is also defined at %s", d.Identity().String(), s.members[first].at)
	}
	e, of := read(d)
	if e == nil {
		s.met[key] = s.remember(&member{at: d.Position()})
		return nil
	}
	m := newMember(d, e, of, s.Terms, s.now)
	found := append(s.superseded(d, m), s.overlaps(d, m)...)
	s.met[key] = s.remember(m)
	return sorted(found)
}

// findingIn returns one finding of a set.
func findingIn(d *exception.Document, reason string, path exception.Path, hint, format string, args ...any) []Finding {
	return []Finding{{reason, severities()[reason], path, d.PositionOf(path), fmt.Sprintf(format, args...), hint}}
}

// remember returns the number of the member. An expired member is not put into the
// index, so that an expired file that nobody has removed yet causes no findings.
func (s *Set) remember(m *member) int {
	number := len(s.members)
	s.members = append(s.members, m)
	if over := !s.now.IsZero() && !m.ends.IsZero() && !m.ends.After(s.now); !over {
		if s.index == nil {
			s.index = memberIndex{}
		}
		s.index.add(number, m)
		m.names, m.namespaces = nil, nil // the index has them
	}
	return number
}

// memberIndex finds the members of a set that may overlap with another: those from the same policy, for a same name or
// namespace. Most exceptions name their resources, so thousands from one policy are not each compared with all others.
// It knows members by their numbers.
type memberIndex map[listing][]int

// listing is a key of the index: a policy and, except for byPolicy, a name or a
// namespace. The empty text is for members that state it by a pattern or not at all.
type listing struct {
	kyverno.PolicyKey
	by   listedBy
	text string
}

type listedBy int

const (
	byPolicy listedBy = iota
	byName
	byNamespace
)

func (index memberIndex) add(number int, m *member) {
	done := map[kyverno.PolicyKey]bool{} // a policy can be named twice
	for _, ref := range m.policies {
		if done[ref.PolicyKey] {
			continue
		}
		done[ref.PolicyKey] = true
		for by, texts := range [][]string{{""}, m.names, m.namespaces} {
			if listedBy(by) == byName && m.nameless || listedBy(by) == byNamespace && m.anywhere {
				texts = append([]string{""}, texts...)
			}
			for _, text := range texts {
				key := listing{ref.PolicyKey, listedBy(by), text}
				index[key] = append(index[key], number)
			}
		}
	}
}

// near returns the members of one policy that may overlap with another: by its names or namespaces.
func (index memberIndex) near(m *member, policy kyverno.PolicyKey) [][]int {
	lists := func(by listedBy, texts []string) [][]int {
		lists := [][]int{index[listing{PolicyKey: policy, by: by}]}
		for _, text := range texts {
			lists = append(lists, index[listing{policy, by, text}])
		}
		return lists
	}
	total := func(lists [][]int) (sum int) {
		for _, list := range lists {
			sum += len(list)
		}
		return sum
	}
	named := lists(byPolicy, nil)
	if !m.nameless {
		named = lists(byName, m.names)
	}
	if m.anywhere {
		return named
	}
	if housed := lists(byNamespace, m.namespaces); total(housed) < total(named) {
		return housed
	}
	return named
}
