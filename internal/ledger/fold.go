package ledger

import (
	"cmp"
	"slices"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/promotion/commitmessage"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// folding applies the steps in order and keeps the current state of the folders.
type folding struct {
	*reading
	signed   map[string][]*Entry              // current entries under signed/, by path
	pending  map[exception.IdentityKey]*Entry // the pending request
	before   map[document]bool                // was under signed/ once
	left     map[document]bool                // and left it
	versions map[exception.IdentityKey]int
	at       int              // index of the current step in the line
	adopted  bool             // a document under signed/ had a signature
	traces   map[int][]*trace // by the index of the step that added them
	moved    int              // file contents that were read to follow them
}

// fold makes entries from the steps.
func (r *reading) fold() {
	f := &folding{reading: r, traces: map[int][]*trace{}, signed: map[string][]*Entry{},
		pending: map[exception.IdentityKey]*Entry{}, before: map[document]bool{}, left: map[document]bool{},
		versions: map[exception.IdentityKey]int{}}
	for i, s := range r.line {
		f.at = i
		f.requests(s)
		f.changeSigned(s)
		f.drop(s)
	}
	f.follow()
	r.ledger.Entries = slices.DeleteFunc(r.ledger.Entries, func(e *Entry) bool { return e.State == taken })
	f.unread()
	f.twice()
	f.offTheLine()
}

// taken marks a request that was signed: it is part of the entry under signed/ now.
const taken State = "taken"

// documentsOf returns the documents of a content.
func (r *reading) documentsOf(from content) []*Entry {
	if b := r.blobs[from]; b != nil {
		return b.documents
	}
	return nil
}

// has reports whether a content has a document of an identity.
func (r *reading) has(from content, id exception.IdentityKey) bool {
	return slices.ContainsFunc(r.documentsOf(from), func(d *Entry) bool { return d.key.identity == id })
}

// requests adds the requests that a step adds under unsigned/. An identity with a pending request
// keeps that request, even if its fields or its file change.
func (f *folding) requests(s *step) {
	for _, c := range s.changes {
		if c.New.Signed {
			continue
		}
		for _, d := range f.documentsOf(c.New) {
			e := f.pending[d.key.identity]
			if e == nil {
				e = f.entry(d, c.Path)
				e.State, e.Request = Waiting, f.request(s, c, d)
				f.pending[d.key.identity] = e
			}
			e.File = c.Path
			e.restate(d)
		}
	}
}

// request makes the request for a document of a step. The document may have been moved there from
// another file; [folding.follow] finds that out.
func (f *folding) request(s *step, c change, d *Entry) *Request {
	request := &Request{}
	f.writer(request, s, c)
	f.traces[f.at] = append(f.traces[f.at], &trace{request, place{d.Identity, c.Path}})
	return request
}

// writer sets the commit that made the request. In a merge, that is the commit that wrote the file.
func (f *folding) writer(request *Request, s *step, c change) {
	request.Event, request.File, request.Before, request.Merged = authored(s.commit), c.Path, s.cut, nil
	if !c.Origin.IsZero() && c.Origin != s.commit.Hash {
		if origin, err := f.repository.Commit(c.Origin); err == nil {
			merged := s.event()
			request.Event, request.Merged = authored(origin), &merged
		}
	}
}

// authored returns the event with the author of a commit: the author is the requester.
func authored(c *git.Commit) Event {
	return Event{c.Hash.String(), person(c.Author), inUTC(c.Author.When)}
}

// entry adds the entry of a document.
func (f *folding) entry(d *Entry, file string) *Entry {
	e := *d
	if e.File = file; e.Verified && e.renewal != (exception.Renewal{}) {
		e.Renews = &Renewal{Renewal: e.renewal}
	}
	f.ledger.Entries = append(f.ledger.Entries, &e)
	return &e
}

// restate replaces what the document of an entry states.
func (e *Entry) restate(d *Entry) {
	e.Exempted, e.Policies, e.Said, e.StartsAt, e.ExpiresAt = d.Exempted, d.Policies, d.Said, d.StartsAt, d.ExpiresAt
}

// changeSigned applies the changes of a step under signed/.
func (f *folding) changeSigned(s *step) {
	var gone []*Entry
	for _, c := range s.changes {
		if c.New.Signed && !c.Old.Hash.IsZero() {
			gone = append(gone, f.signed[c.Path]...)
			delete(f.signed, c.Path)
		}
	}
	isSigned := func(d *Entry) bool { return !d.unsigned() }
	for _, c := range s.changes {
		f.adopted = f.adopted || c.New.Signed && slices.ContainsFunc(f.documentsOf(c.New), isSigned)
	}
	var came []*Entry
	for _, c := range s.changes {
		if !c.New.Signed {
			continue
		}
		for _, d := range f.documentsOf(c.New) {
			early := !f.adopted && d.unsigned()
			e := f.stays(&gone, d, early)
			if e == nil {
				e = f.appears(s, c, d, early)
				for _, before := range gone {
					if before.early && !d.unsigned() && e.Request == nil && before.key.identity == d.key.identity {
						e.Request, before.State = before.Request, taken // it was signed in its old file
					}
				}
				came = append(came, e)
			}
			e.File = c.Path
			f.signed[c.Path] = append(f.signed[c.Path], e)
		}
	}
	for _, e := range gone {
		if e.early && f.pending[e.key.identity] != nil {
			e.State = taken // it was moved to unsigned/ to be signed
		}
		e.Left = &Departure{Event: s.event(), How: how(s, e, came)}
		f.left[e.key] = true
	}
}

// unsigned reports whether a document has no signature. A List counts as unsigned, because polex
// does not sign lists.
func (e *Entry) unsigned() bool {
	return e.Seal.Now.Reason == verify.ReasonUnsigned || e.Seal.Now.Reason == verify.ReasonKindNotAllowed
}

// stays removes the entry of a document from gone if the same document is still in the tree, for
// example in another file. Before the first signature, an edited document of the same name stays
// too.
func (f *folding) stays(gone *[]*Entry, d *Entry, early bool) *Entry {
	i := slices.IndexFunc(*gone, func(e *Entry) bool {
		return e.key == d.key || early && e.early && e.key.identity == d.key.identity
	})
	if i < 0 {
		return nil
	}
	e := (*gone)[i]
	if e.key != d.key {
		e.key, e.Seal = d.key, d.Seal
		e.restate(d)
	}
	*gone = slices.Delete(*gone, i, i+1)
	return e
}

func (f *folding) appears(s *step, c change, d *Entry, early bool) *Entry {
	e := f.entry(d, c.Path)
	e.Appeared, e.Returned = &Appearance{s.event(), s.cut}, f.left[d.key]
	f.before[d.key] = true
	switch pending := f.pending[d.key.identity]; {
	case pending != nil && !e.Returned:
		e.Request = pending.Request
	case early:
		e.Request = f.request(s, c, d)
	}
	if e.early = early; !early {
		f.versions[d.key.identity]++
		e.Version = f.versions[d.key.identity]
	}
	return e
}

// how returns the way in which an entry left. A replacement is visible in the step itself; that the
// exception had expired is a claim in the commit message.
func how(s *step, e *Entry, came []*Entry) How {
	if slices.ContainsFunc(came, func(other *Entry) bool { return other.key.identity == e.key.identity }) {
		return Replaced
	}
	for _, line := range s.trailers {
		if line.Key == commitmessage.Pruned && line.Names(e.File) {
			return Pruned
		}
	}
	return Withdrawn
}

// drop removes the requests that a step deletes from unsigned/. A request that the same step signs
// is part of another entry. A request that is still in another file stays pending.
func (f *folding) drop(s *step) {
	for _, c := range s.changes {
		if c.New.Signed || c.Old.Hash.IsZero() {
			continue
		}
		for _, d := range f.documentsOf(c.Old) {
			id := d.key.identity
			e := f.pending[id]
			if e == nil || e.File != c.Path || f.has(c.New, id) {
				continue
			}
			delete(f.pending, id)
			e.State, e.Left = Dropped, &Departure{Event: s.event(), How: Withdrawn}
			for _, other := range s.changes {
				if other.New.Signed && f.has(other.New, id) {
					e.State, e.Left = taken, nil
				}
			}
		}
	}
}

// order sorts the entries by identity and version.
func (l *Ledger) order() {
	slices.SortStableFunc(l.Entries, func(a, b *Entry) int {
		x, y := a.Identity, b.Identity
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name),
			cmp.Compare(x.Group, y.Group), cmp.Compare(x.Kind, y.Kind),
			cmp.Compare(uint(a.Version-1), uint(b.Version-1))) //nolint:gosec // 0 is meant to become the last one
	})
}
