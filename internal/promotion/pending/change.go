package pending

import (
	"fmt"
	"slices"

	"github.com/polex-dev/polex/pkg/exception"
)

// Entry is a file of the pending or of the signed folder, before a change is merged.
type Entry struct {
	File                 // To is the target of a pending file
	Signed    bool       // it is in the signed folder
	Documents []Document // those that can be read
	Size      int64      // of a pending file, in bytes
	// Changed means that the change adds the file or changes it.
	Changed bool
}

// duplicateIdentity is the reason of package sign with this name, which [Reasons] does not repeat.
const duplicateIdentity = "duplicate-identity"

// Blocked returns the refusals of a later promotion that a change causes: those of its own pending files, and those of
// other pending files that only its signed files block. There is one refusal for each file and reason, and its position
// is in the pending file. With replace (promote.updates), a request may replace a signed exception.
func Blocked(entries []Entry, replace bool) exception.Refusals {
	c := change{replace: replace, changed: map[string]bool{}, requested: map[exception.Identity]bool{}}
	for _, e := range entries {
		if e.Signed {
			c.sign(e)
		} else {
			c.request(e)
		}
	}
	// Older pending files come first. If two conflict, the changed file gets the error.
	slices.SortStableFunc(c.requests, func(a, b Request) int {
		switch {
		case c.changed[a.From] == c.changed[b.From]:
			return 0
		case c.changed[a.From]:
			return 1
		}
		return -1
	})
	c.compare()
	return c.refusals
}

type change struct {
	replace        bool
	signed, before Signed // before is without the changed files
	requests       []Request
	requested      map[exception.Identity]bool
	changed        map[string]bool // the changed pending files
	refusals       exception.Refusals
}

func (c *change) sign(e Entry) {
	var ids []exception.Identity
	for _, doc := range e.Documents {
		ids = append(ids, doc.Identity)
	}
	folders := []*Signed{&c.signed, &c.before}
	if e.Changed {
		folders = folders[:1]
	}
	for _, s := range folders {
		if s.Add(e.Path); Signs(e.File) {
			s.Holds(e.Path, ids)
		}
	}
}

func (c *change) request(e Entry) {
	c.changed[e.Path] = e.Changed
	if refusal := CheckFile(e.File); refusal != nil {
		c.refuse(e.Path, refusal)
		return
	}
	if len(e.Documents) == 0 {
		return
	}
	c.requests = append(c.requests, Request{From: e.Path, To: e.To, Documents: e.Documents})
	for _, doc := range e.Documents {
		c.requested[doc.Identity] = true
	}
	if refusal := CheckSize(e.Path, e.Size, len(e.Documents)); refusal != nil {
		c.refuse(e.Path, refusal)
	}
}

// compare compares each request with the others and with the signed folder.
func (c *change) compare() {
	first, targets := map[exception.Identity]string{}, Targets{}
	for _, r := range c.requests {
		for _, doc := range r.Documents {
			other, again := first[doc.Identity]
			if !again {
				first[doc.Identity] = r.From
			} else if !c.changed[other] { // the checks of the documents find duplicates among the changed files
				c.refuse(r.From, &exception.Refusal{Position: doc.Position, Reason: duplicateIdentity,
					Message: fmt.Sprintf("%s is already pending, in %s", doc.Identity, other),
					Hint:    "only one of the two can be promoted"})
			}
		}
	}
	for _, r := range c.requests {
		_, refusals := c.signed.Check(r, c.requested, c.replace)
		if !c.changed[r.From] && len(refusals) > 0 {
			if _, earlier := c.before.Check(r, c.requested, c.replace); len(earlier) == 0 {
				c.add(r.From, refusals[0]) // the change blocks this file
			}
		}
		for _, refusal := range append(refusals, targets.Add(r)...) {
			c.refuse(r.From, refusal)
		}
	}
}

// refuse adds the refusal of a changed file.
func (c *change) refuse(from string, r *exception.Refusal) {
	if c.changed[from] {
		c.add(from, r)
	}
}

func (c *change) add(from string, r *exception.Refusal) {
	r.Position.File = from
	if !slices.ContainsFunc(c.refusals, func(other *exception.Refusal) bool {
		return other.Position.File == from && other.Reason == r.Reason
	}) {
		c.refusals = append(c.refusals, r)
	}
}
