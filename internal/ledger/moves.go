package ledger

import (
	"bytes"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
)

// trace follows a request back to the commit that wrote its exception first, in another file
// or another folder. Git follows a file by what is alike in it. An exception has a name: the
// commit that moves it takes it from one file and brings it to another.
type trace struct {
	request  *Request
	identity exception.Identity
	path     string
}

// follow goes back through the line once, for all requests. What cannot be read, as the files
// of other folders in a partial clone, is not followed.
func (f *folding) follow() {
	left := maxMoved
	var open []*trace
	for at := len(f.line) - 1; at >= 0; at-- {
		s := f.line[at]
		var before *git.Tree
		if at > 0 {
			before = f.repository.TreeOf(f.line[at-1].commit)
		}
		here := f.repository.TreeOf(s.commit)
		arrived, stayed := f.arrivals(open, before, here, &left)
		arrived, open = append(arrived, f.traces[at]...), stayed
		if len(arrived) == 0 {
			continue
		}
		lost := f.lost(before, here, &left)
		for _, t := range arrived {
			from := sourceOf(lost, t.identity)
			switch {
			case from != nil:
				if from.path != t.path {
					t.request.Moves = append(t.request.Moves, Move{s.event(), from.path})
				}
				t.identity, t.path = from.identity, from.path
				open = append(open, t)
			case len(t.request.Moves) > 0:
				f.wrote(t, s, here)
			}
		}
	}
	for _, t := range open {
		t.request.Moves = nil // they lead to no commit that could be read
	}
}

// arrivals tells the exceptions that a step brought to where they are from those that were there
// before it.
func (f *folding) arrivals(open []*trace, before, here *git.Tree, left *int) (arrived, stayed []*trace) {
	if len(open) == 0 {
		return nil, nil
	}
	paths := make([]string, len(open))
	for i, t := range open {
		paths[i] = t.path
	}
	there := map[string][]exception.Identity{}
	_ = git.DifferencesAt(before, here, paths, func(c git.Change) error {
		if slices.Contains(paths, c.Path) {
			there[c.Path] = f.exceptionsIn(c.Old, left)
		}
		return nil
	})
	for _, t := range open {
		if old, changed := there[t.path]; changed && !slices.Contains(old, t.identity) {
			arrived = append(arrived, t)
		} else {
			stayed = append(stayed, t)
		}
	}
	return arrived, stayed
}

// wrote makes a step the one that wrote an exception first.
func (f *folding) wrote(t *trace, s *step, here *git.Tree) {
	c := change{Path: t.path}
	if entry, err := here.At(t.path); err == nil && len(s.commit.Parents) > 1 && !s.cut {
		c.Origin, _ = f.origin(s.commit.Parents[1], t.path, contentOf(entry))
	}
	f.asks(t.request, s, c)
	slices.Reverse(t.request.Moves)
}

// place is where an exception was.
type place struct {
	identity exception.Identity
	path     string
}

// lost returns the exceptions that a step takes from files.
func (f *folding) lost(before, here *git.Tree, left *int) []place {
	var lost []place
	if before == nil {
		return nil
	}
	_ = git.Differences(before, here, ".", func(c git.Change) error {
		if !holdsDocuments(c.Path) {
			return nil
		}
		kept := f.exceptionsIn(c.New, left)
		for _, id := range f.exceptionsIn(c.Old, left) {
			if !slices.Contains(kept, id) {
				lost = append(lost, place{id, c.Path})
			}
		}
		return nil
	})
	return lost
}

// exceptionsIn returns the exceptions of a file, as long as contents are left to be read.
func (f *folding) exceptionsIn(e git.Entry, left *int) []exception.Identity {
	if !e.IsFile() || *left <= 0 {
		return nil
	}
	*left--
	raw, err := f.repository.Blob(e.Hash())
	if err != nil || !bytes.Contains(raw, []byte("PolicyException")) {
		return nil
	}
	var docs []*exception.Document
	for doc, err := range exception.NewReader(bytes.NewReader(raw), "").All() {
		if err == nil {
			docs = append(docs, doc)
		}
	}
	var found []exception.Identity
	for _, doc := range manifest.Objects(docs) {
		found = append(found, doc.Identity())
	}
	return found
}

// sourceOf returns the one place that an exception of this name was taken from, or nil. A
// namespace may have been left to what deploys the file, or be a variable of Flux.
func sourceOf(lost []place, id exception.Identity) *place {
	var found *place
	for i, p := range lost {
		a, b := p.identity.Namespace, id.Namespace
		if strings.Contains(a, "$") {
			a = ""
		}
		if p.identity.GroupKind != id.GroupKind || p.identity.Name != id.Name || a != b && a != "" && b != "" {
			continue
		}
		if a == b {
			return &lost[i]
		}
		if found != nil {
			return nil
		}
		found = &lost[i]
	}
	return found
}
