package shape

import (
	"fmt"
	"iter"
	"time"

	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonDuplicateIdentity is a reason of findings.
const ReasonDuplicateIdentity = "duplicate-identity"

var duplicateIdentityCheck = check{
	About: "Finds two documents that are the same object to the API server. The document that is applied last wins, " +
		"and the order depends on the tool. A second document can undo the one that was reviewed.",
	Reasons: []Reason{{Name: ReasonDuplicateIdentity, Doc: "two documents are the same object to the API server", Fixed: true}},
}

// Set holds the exceptions of a run against each other and against those that
// are live. Its checks:
//
//   - Two documents are one object to the API server. The one that is applied
//     last wins there, and which one that is depends on the tool: a second
//     document can undo what was reviewed in the first.
//   - Two exceptions exempt the same resource from the same rule.
//   - An exception takes the place of a live one.
//
// The zero value is empty and ready; it is not for several goroutines at once.
type Set struct {
	// Thorough compares an exception with all of the set that may exempt the same, where
	// otherwise 100 are compared: for who refuses what overlaps. One that takes too long
	// to compare is found to overlap.
	Thorough bool
	// Terms are the trust policy's: what the expiry of an exception is read by.
	Terms lifetime.Terms

	members   []*member
	met, live map[exception.IdentityKey]int // numbers of members
	index     memberIndex
	now       time.Time
}

// Live tells the set which exceptions are live: those in signed/, say. They are
// what documents added later are held against, and are not reported on
// themselves. A duration that an exception asks for counts from now.
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
		m := newMember(d, e, of, s.Terms, time.Time{}) // what a live one asked for was counted from its signing
		m.live = true
		s.live[m.id.Key()] = s.remember(m)
	}
}

// Add puts a document into the set and returns what is wrong with it beside
// those that are there already.
func (s *Set) Add(d *exception.Document) []Finding {
	if s.met == nil {
		s.met = map[exception.IdentityKey]int{}
	}
	key := d.Identity().Key()
	if first, again := s.met[key]; again {
		path := exception.Path{"metadata", "name"}
		return []Finding{{
			Reason: ReasonDuplicateIdentity, Path: path, Position: d.PositionOf(path),
			Message: fmt.Sprintf("%q is also defined at %s", d.Identity().String(), s.members[first].at),
			Hint:    "keep one of the two",
		}}
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

// remember returns the number that it remembers a member under. One that is over
// is not put into the index, so that nothing is said of what nobody has taken
// out yet.
func (s *Set) remember(m *member) int {
	number := len(s.members)
	s.members = append(s.members, m)
	if over := !s.now.IsZero() && !m.ends.IsZero() && !m.ends.After(s.now); over {
		return number
	}
	if s.index == nil {
		s.index = memberIndex{}
	}
	s.index.add(number, m)
	m.names, m.namespaces = nil, nil // the index has them
	return number
}
