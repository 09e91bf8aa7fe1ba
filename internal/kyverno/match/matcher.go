package match

import (
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Matcher finds the resources that an exception exempts.
type Matcher struct {
	block       Block
	conditional bool // there are also conditions, in a language that polex does not read
	skipping    bool // one of the policies also skips a resource for which a condition is an error
}

// ByMatch returns the matcher for the match of a kyverno.io exception. conditional means that there are conditions too.
func ByMatch(block Block, conditional bool) *Matcher {
	return &Matcher{block: block, conditional: conditional}
}

// ByConditions returns the matcher for match conditions of an exception from policies of some kinds. It returns nil if
// files do not show for which resources they are true: only plain comparisons are recognised ([kyverno.PlainMatch]).
//
// If a condition is an error, a validating policy does not exempt the resource. Other policies skip it.
func ByConditions(policies, conditions []string) *Matcher {
	kinds, text := strings.Join(policies, " ")+" ", strings.Join(kyverno.Parts(conditions), " ")
	block := BlockOf(kyverno.PlainMatch(conditions))
	if len(block) == 0 || strings.Contains(kinds, "DeletingPolicy ") && strings.Contains(text, "request .") {
		return nil // a DeletingPolicy has no request
	}
	for i := range block {
		f := &block[i][0]
		f.Empty, f.OfConditions = false, true
		if f.Selector == nil && strings.Contains(text, "metadata . labels") {
			return nil // the filter does not contain has(object.metadata.labels)
		}
		if len(f.Kinds) == 0 && strings.Contains(text, "request . namespace") {
			return nil // the namespace of a request for a Namespace is this Namespace
		}
	}
	validating := func(kind string) bool { return strings.HasSuffix(kind, "ValidatingPolicy") }
	return &Matcher{block: block, skipping: len(slices.DeleteFunc(slices.Clone(policies), validating)) > 0}
}

// candidates calls visit with every resource that may match, until it returns false. A resource may occur twice.
func (m *Matcher) candidates(work *wildcard.Meter, set *Resources, visit func(*Resource) bool) {
	for _, filters := range m.block {
		// All filters have to match, so the narrowest one is sufficient for the search.
		narrowest := slices.IndexFunc(filters, func(f Filter) bool {
			return f.Name != "" && !wildcard.In(f.Name) ||
				len(f.Names) > 0 && !slices.ContainsFunc(f.Names, wildcard.In)
		})
		more := true
		set.candidates(work, &filters[max(narrowest, 0)], func(r *Resource) bool { more = visit(r); return more })
		if !more || work.Spent() {
			return
		}
	}
}

// takes reports whether the exception exempts a resource, and under which assumptions.
func (m *Matcher) takes(work *wildcard.Meter, r *Resource) (bool, Assumptions) {
	if !m.block.takes(work, r) {
		return false, 0
	}
	var assumed Assumptions
	if m.conditional {
		assumed |= assumedConditions
	}
	if m.skipping {
		assumed |= assumedLeftOut
	}
	if m.made() {
		assumed |= assumedMade
	}
	_, inNamespace := r.inNamespace()
	for _, f := range slices.Concat(m.block...) {
		if f.Users {
			assumed |= assumedSender
		}
		if !inNamespace && (len(f.Namespaces) > 0 || f.NamespaceSelector != nil) {
			assumed |= assumedNamespace
		}
		if f.NamespaceSelector != nil && r.Home != nil && !r.Home.Written {
			assumed |= assumedNamespaceLabels
		}
	}
	return true, assumed
}

// MoreThanFiles reports whether the exception may exempt objects that files do not show: those of a
// kind that mostly controllers create, and those for which a condition is an error.
func (m *Matcher) MoreThanFiles() bool { return m.skipping || m.made() }

func (m *Matcher) made() bool {
	return slices.ContainsFunc(slices.Concat(m.block...), func(f Filter) bool {
		return slices.ContainsFunc(f.Kinds,
			func(k kyverno.KindSelector) bool { return slices.Contains(manifest.MadeKinds, k.Kind) })
	})
}

// Each calls visit once with every resource that an exception exempts, until it returns false. cut: there may be more.
func Each(set *Resources, m *Matcher, visit func(exception.Identity, Assumptions) bool) (cut bool) {
	work, met := wildcard.NewMeter(), map[exception.Identity]bool{}
	m.candidates(work, set, func(r *Resource) bool {
		if met[r.Id] {
			return true
		}
		if takes, assuming := m.takes(work, r); takes {
			met[r.Id] = true
			if !visit(r.Id, assuming) {
				return false
			}
		}
		return !work.Spent()
	})
	return work.Spent()
}

// Assumptions are facts that no file states and that a result depends on.
type Assumptions uint16

// One assumption for each text of assumptionTexts, in the same order.
const (
	assumedSender Assumptions = 1 << iota
	assumedConditions
	assumedNamespace
	assumedNamespaceLabels
	assumedLeftOut
	assumedMade
)

// assumptionTexts are the texts for people, each as the end of "assuming …".
var assumptionTexts = [...]string{
	"that the request is from a user that the match requires",
	"that the conditions hold",
	"that objects without a namespace in their file are in one that matches",
	"that namespaces which are in no file have the labels",
	"that the conditions are an error for no other object, which policies that mutate, generate or delete would skip",
	"that no controller makes more of these objects, such as the Pods of a Deployment",
}

// Texts returns the texts for people, each as the end of "assuming …".
func (a Assumptions) Texts() []string {
	var texts []string
	for i, text := range assumptionTexts {
		if a&(1<<i) != 0 {
			texts = append(texts, text)
		}
	}
	return texts
}
