package match

import (
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/expression"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// ConditionMatcher is for policies.kyverno.io: the match conditions are
// evaluated on the requests that create, update or delete a resource, as far as
// its file says what they would be. They are joined by "and"; without any, the
// exception is for every resource.
//
// Kyverno 1.19.1 evaluates all of an exception's conditions until one is false
// (match in pkg/cel/policies/vpol/compiler/policy.go, and in the compiler of
// each other kind). If none is false and one is an error, a policy that
// validates refuses the request or goes on without the exception, so nothing is
// exempt. The error of a policy that mutates, generates or deletes has another
// end: it generates nothing (pkg/cel/policies/gpol/engine/engine.go), deletes
// nothing (pkg/controllers/deleting/controller.go), and under the failure policy
// Ignore it changes nothing (pkg/webhooks/resource/mpol/handler.go). What the
// condition fails on is exempt there, in all but name, and is counted.
type ConditionMatcher struct {
	language  *expression.Language
	all       *term
	stages    [][]stage // of those in one, any counts
	equals    equalities
	leavesOut bool // one of the policies leaves out what a condition fails on
	ofMade    bool
}

// NewConditions is for conditions that are joined by "and", in an exception from policies
// of some kinds. It returns nil where one does not compile.
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
		// Then a deletion looks the same whatever is deleted.
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

// meanings says which variables are the resource and its request wherever a
// condition is true of them. Where an error counts too, it is those that always
// exist: what is asked of others may be an error.
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

// namesMade reports whether a text of a condition is a kind that controllers
// make, or its name in URLs.
func namesMade(text string) bool {
	return slices.ContainsFunc(manifest.MadeKinds, func(kind string) bool { return text == kind || text == manifest.NameInURLs(kind) })
}

// Made reports whether a condition names a kind that controllers make.
func (m *ConditionMatcher) Made() bool { return m.ofMade }

func (m *ConditionMatcher) candidates(work *wildcard.Meter, set *Resources, visit func(*Resource) bool) {
	set.equal(work, m.equals, visit)
}

// takes tries the stages one after the other. That a resource is only exempt
// from some of what is asked about it is an assumption, for no file says which
// requests come.
func (m *ConditionMatcher) takes(work *wildcard.Meter, r *Resource) (bool, Assumptions) {
	// A name that is yet to be generated is an error where things are changed, and
	// only unknown where they are validated.
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

// holds reports whether the conditions may be true of a resource at a stage.
func (m *ConditionMatcher) holds(work *wildcard.Meter, r *Resource, at stage) (bool, Assumptions) {
	var noted Assumptions
	result, assumed := m.all.try(work, m.language, &resourceRequest{Resource: r, stage: at, noted: &noted})
	if result&canHold != 0 {
		return true, assumed
	}
	return m.leavesOut && result&canFail != 0 && at.object == asWritten, assumed | assumedLeftOut
}
