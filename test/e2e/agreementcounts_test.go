//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// agreement counts the results.
type agreement struct {
	source           // of all
	byKyverno, laxer int
	stricter         map[string]int     // by all reasons of a document
	used             map[string]bool    // of strictness
	sources          map[string]*source // by the origin of the documents
}

// source counts the documents from one origin.
type source struct{ documents, admitted, refused int }

func (s *source) String() string {
	agreed := s.admitted + s.refused
	return fmt.Sprintf("%d documents, %d agreed (%.1f%%: %d admitted, %d refused)", s.documents, agreed, 100*float64(agreed)/float64(s.documents), s.admitted, s.refused)
}

func (a *agreement) count(t *testing.T, v verdicts) {
	from, _, _ := strings.Cut(v.name, "/")
	if a.sources[from] == nil {
		a.sources[from] = &source{}
	}
	both := []*source{&a.source, a.sources[from]}
	for _, s := range both {
		s.documents++
	}
	switch {
	case v.real == "" && len(v.ours) == 0:
		for _, s := range both {
			s.admitted++
		}
	case v.real != "" && len(v.ours) > 0:
		for _, s := range both {
			s.refused++
		}
		if strings.Contains(v.real, "admission webhook") {
			a.byKyverno++
		}
	case v.real != "":
		a.laxer++
		t.Errorf("%s\npolex admits what the servers refuse: %s", v.name, v.real)
	default:
		a.countStricter(t, v)
	}
}

func (a *agreement) countStricter(t *testing.T, v verdicts) {
	reasons := map[string]bool{}
	for _, f := range v.ours {
		s := stricterBy(f)
		if s == nil {
			t.Errorf("%s\nthe servers admit what polex refuses: %s: %s: %s", v.name, f.Path, f.Message, f.Reason)
			return
		}
		reasons[s.key()], a.used[s.key()] = true, true
	}
	a.stricter[strings.Join(slices.Sorted(maps.Keys(reasons)), " and ")]++
}

func (a *agreement) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s; %d refused by Kyverno's webhook, %d laxer\n", a.source.String(), a.byKyverno, a.laxer)
	for _, from := range slices.Sorted(maps.Keys(a.sources)) {
		fmt.Fprintf(&out, "%-12s %s\n", from, a.sources[from])
	}
	for _, reason := range slices.Sorted(maps.Keys(a.stricter)) {
		fmt.Fprintf(&out, "stricter by %-60s %d\n", reason, a.stricter[reason])
	}
	return out.String()
}
