package match

import (
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/expression"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// ConditionMatcher is the matcher for policies.kyverno.io. It evaluates the match conditions on the
// requests that create, update or delete a resource, as far as its file determines these. "and"
// joins the conditions. Without conditions, the exception applies to every resource.
//
// Kyverno 1.19.1 evaluates the conditions of an exception until one is false (match in
// pkg/cel/policies/vpol/compiler/policy.go, and the compilers of the other kinds). If none is false
// and one is an error, a validating policy rejects the request or ignores the exception, so nothing
// is exempt.
//
// Other policies treat an error differently. A policy that generates or deletes does nothing
// (pkg/cel/policies/gpol/engine/engine.go, pkg/controllers/deleting/controller.go). A policy that
// mutates does nothing with the failure policy Ignore (pkg/webhooks/resource/mpol/handler.go). The
// resource is then exempt in effect, and counts as exempt here.
type ConditionMatcher struct {
	language  *expression.Language
	all       *term
	stages    [][]stage // in each list, one alternative is sufficient
	equals    equalities
	leavesOut bool // one of the policies skips a resource if a condition is an error
	ofMade    bool
}

// NewConditions returns the matcher for conditions of an exception from policies of some kinds. It
// returns nil if one condition does not compile.
func NewConditions(l *expression.Language, policies []string, conditions []*expression.Condition) *ConditionMatcher {
	terms, ofMade := make([]*term, 0, len(conditions)), false
	for _, c := range conditions {
		if c.Problem != nil {
			return nil
		}
		terms = append(terms, termOf(c))
		ofMade = ofMade || slices.ContainsFunc(c.Literals(), namesMade)
	}
	leavesOut := slices.ContainsFunc(policies, func(kind string) bool { return !strings.HasSuffix(kind, "ValidatingPolicy") })
	m := &ConditionMatcher{
		language: l, all: allOf(terms), stages: stagesOf(policies, terms),
		equals: equalitiesOf(terms, meanings(policies, leavesOut)), leavesOut: leavesOut, ofMade: ofMade,
	}
	if !speakOf(terms, "oldObject", "request", "namespaceObject") {
		// Then the conditions have the same value for every deletion.
		m.stages = slices.DeleteFunc(m.stages, func(alternatives []stage) bool {
			if alternatives[0].operation != "DELETE" {
				return false
			}
			holds, _ := m.holdsAny(wildcard.NewMeter(), &Resource{}, alternatives)
			return !holds
		})
	}
	return m
}

// meanings maps variables to the resource or its request, if they mean these whenever a condition
// is true. If an error counts as true, only the variables that always exist are mapped: a field of
// the others may be an error.
func meanings(policies []string, leavesOut bool) map[string]string {
	of := map[string]string{"object": "object"}
	if !leavesOut {
		of["oldObject"] = "object"
	}
	if !slices.ContainsFunc(policies, onSchedule) {
		of["request"] = "request"
	}
	return of
}

// namesMade reports whether a literal is a kind that controllers create, or its name in URLs.
func namesMade(text string) bool {
	return slices.ContainsFunc(manifest.MadeKinds, func(kind string) bool { return text == kind || text == manifest.NameInURLs(kind) })
}

// Made reports whether a condition names a kind that controllers create.
func (m *ConditionMatcher) Made() bool { return m.ofMade }

func (m *ConditionMatcher) candidates(work *wildcard.Meter, set *Resources, visit func(*Resource) bool) {
	set.equal(work, m.equals, visit)
}

// takes tries the stages one after the other. No file states which requests occur. If a resource is
// exempt only from some requests about it, the result depends on an assumption.
func (m *ConditionMatcher) takes(work *wildcard.Meter, r *Resource) (bool, Assumptions) {
	// A name that will be generated is an error for policies that mutate, and only unknown for
	// those that validate.
	if !m.leavesOut && !m.equals.allow(r) {
		return false, 0
	}
	taken, left := false, false
	var assumed Assumptions
	for _, alternatives := range m.stages {
		remains := alternatives[0].object == asWritten
		if taken && (left || !remains) {
			break
		}
		holds, assuming := m.holdsAny(work, r, alternatives)
		switch {
		case holds && !taken:
			taken, assumed = true, assuming
		case !holds && remains:
			left = true
		}
	}
	if !taken {
		return false, 0
	}
	if left {
		assumed |= assumedOperation
	}
	if m.ofMade {
		assumed |= assumedMade
	}
	return true, assumed
}

func (m *ConditionMatcher) holdsAny(work *wildcard.Meter, r *Resource, alternatives []stage) (bool, Assumptions) {
	for _, at := range alternatives {
		if holds, assumed := m.holds(work, r, at); holds {
			return true, assumed
		}
	}
	return false, 0
}

// holds reports whether the conditions can be true for a resource at a stage.
func (m *ConditionMatcher) holds(work *wildcard.Meter, r *Resource, at stage) (bool, Assumptions) {
	var noted Assumptions
	result, assumed := m.all.try(work, m.language, &resourceRequest{Resource: r, stage: at, noted: &noted})
	if result&canHold != 0 {
		return true, assumed
	}
	return m.leavesOut && result&canFail != 0 && at.object == asWritten, assumed | assumedLeftOut
}
