package ledger

import (
	"bytes"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
)

// trace follows a request back to the commit that first wrote its exception, perhaps in another
// file or folder. Git detects renames by similar content. An exception has a name, so this is
// exact: the moving commit removes the name from one file and adds it to another.
type trace struct {
	request *Request
	place
}

// place is a file that contained an exception.
type place struct {
	identity exception.Identity
	path     string
}

// follow walks the line back once, for all requests. It does not follow an exception into content
// that cannot be read, such as other folders in a partial clone.
func (f *folding) follow() {
	var open []*trace
	for at := len(f.line) - 1; at >= 0; at-- {
		s := f.line[at]
		var before *git.Tree
		if at > 0 {
			before = f.repository.TreeOf(f.line[at-1].commit)
		}
		here := f.repository.TreeOf(s.commit)
		arrived, stayed := f.arrivals(open, before, here)
		arrived, open = append(arrived, f.traces[at]...), stayed
		if len(arrived) == 0 {
			continue
		}
		lost := f.lost(before, here)
		for _, t := range arrived {
			from := sourceOf(lost, t.identity)
			switch {
			case from != nil:
				if from.path != t.path {
					t.request.Moves = append(t.request.Moves, Move{s.event(), from.path})
				}
				t.place = *from
				open = append(open, t)
			case len(t.request.Moves) > 0:
				f.wrote(t, s, here)
			}
		}
	}
	for _, t := range open {
		t.request.Moves = nil // they lead to no readable commit
	}
}

// arrivals separates the exceptions that a step added to their path from those that were there
// before.
func (f *folding) arrivals(open []*trace, before, here *git.Tree) (arrived, stayed []*trace) {
	if len(open) == 0 {
		return nil, nil
	}
	paths := make([]string, len(open))
	for i, t := range open {
		paths[i] = t.path
	}
	old := map[string][]exception.Identity{}
	_ = git.DifferencesAt(before, here, paths, func(c git.Change) error {
		if slices.Contains(paths, c.Path) {
			old[c.Path] = f.exceptionsIn(c.Old)
		}
		return nil
	})
	for _, t := range open {
		if before, changed := old[t.path]; changed && !slices.Contains(before, t.identity) {
			arrived = append(arrived, t)
		} else {
			stayed = append(stayed, t)
		}
	}
	return arrived, stayed
}

// wrote records the step that first wrote an exception.
func (f *folding) wrote(t *trace, s *step, here *git.Tree) {
	c := change{Path: t.path}
	if entry, err := here.At(t.path); err == nil && len(s.commit.Parents) > 1 && !s.cut {
		c.Origin = f.origin(s.commit.Parents[1], t.path, contentOf(entry, false))
	}
	f.writer(t.request, s, c)
	slices.Reverse(t.request.Moves)
}

// lost returns the exceptions that a step removes from files.
func (f *folding) lost(before, here *git.Tree) []place {
	var lost []place
	if before == nil {
		return nil
	}
	_ = git.Differences(before, here, ".", func(c git.Change) error {
		if !exception.HoldsDocuments(c.Path) {
			return nil
		}
		kept := f.exceptionsIn(c.New)
		for _, id := range f.exceptionsIn(c.Old) {
			if !slices.Contains(kept, id) {
				lost = append(lost, place{id, c.Path})
			}
		}
		return nil
	})
	return lost
}

// exceptionsIn returns the exceptions in a file. It stops reading after maxMoved files.
func (f *folding) exceptionsIn(e git.Entry) []exception.Identity {
	if !e.IsFile() || f.moved >= maxMoved {
		return nil
	}
	f.moved++
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
	var identities []exception.Identity
	for _, doc := range manifest.Objects(docs) {
		identities = append(identities, doc.Identity())
	}
	return identities
}

// sourceOf returns the only place from which an exception of this name was removed, or nil. The
// namespace of the source may be missing, if the deployment tool sets it, or be a Flux variable.
func sourceOf(lost []place, id exception.Identity) *place {
	var match *place
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
		if match != nil {
			return nil
		}
		match = &lost[i]
	}
	return match
}
