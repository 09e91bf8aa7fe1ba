package kyverno_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/test/expect"
)

// TestContradictionWork: kinds of many filters do not multiply.
func TestContradictionWork(t *testing.T) {
	filters := make([]kyverno.Filter, 12)
	for i := range filters {
		filters[i].Namespaces = []kyverno.Located{{Text: "team-a"}}
		for j := range 200 {
			filters[i].Kinds = append(filters[i].Kinds, kyverno.Located{Text: strings.Repeat("*", 1+j%3)})
		}
	}
	work := wildcard.NewMeter()
	before := work.Left
	if miss := kyverno.Contradiction(work, filters); miss != nil || before-work.Left > 1_000_000 {
		t.Errorf("%v, with %d steps", miss, before-work.Left)
	}
}

// TestAlternativesWork: alternatives and parts do not multiply without a limit, and nothing is known then.
func TestAlternativesWork(t *testing.T) {
	var names, labels []string
	for i := range 60 {
		names = append(names, fmt.Sprintf("object.metadata.name == 'n%d'", i))
	}
	for i := range 150 {
		labels = append(labels, fmt.Sprintf("object.metadata.labels.k%d == 'v'", i))
	}
	e := &kyverno.Exception{}
	for range 60 {
		text := "(" + strings.Join(names, " || ") + ") && " + strings.Join(labels, " && ")
		e.Conditions = append(e.Conditions, kyverno.Condition{Expression: kyverno.Located{Text: text}, IsText: true})
	}
	total := 0
	for _, filters := range e.Alternatives(wildcard.NewMeter()) {
		total += len(filters)
	}
	expect.That(t, total <= 60_000, "%d filters", total)
	for _, f := range e.Bounds() {
		expect.That(t, len(f.Namespaces) == 0, "a bound of nothing")
	}
}

// TestManyConditions: of many entries of spec.conditions, each filter of a long match is compared with a few.
func TestManyConditions(t *testing.T) {
	filter := "    - resources: {kinds: [Pod], names: [web]}\n"
	condition := "    - {key: '{{ request.object.metadata.name }}', operator: Equals, value: web}\n"
	e := kyverno.Read(document(t, "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: a, namespace: b}\nspec:\n  match:\n    any:\n"+
		strings.Repeat(filter, 500)+"  conditions:\n    all:\n"+strings.Repeat(condition, 500)))
	filters := slices.Concat(e.Alternatives(wildcard.NewMeter())...)
	expect.That(t, len(filters) > 1000 && len(filters) < 5000, "there are %d filters", len(filters))
}
