package kyverno_test

import (
	"fmt"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/test/expect"
)

// TestDropped: the policies to which Kyverno still applies an exception after an update.
func TestDropped(t *testing.T) {
	const one = "{policyName: p, ruleNames: [r]}"
	for name, tc := range map[string]struct {
		conditions    bool // policies.kyverno.io
		before, after string
		want          []string
	}{
		"the same":                {before: one, after: one},
		"another rule":            {before: one, after: "{policyName: p, ruleNames: ['autogen-*']}"},
		"one more":                {before: one, after: "{policyName: o, ruleNames: [r]}, " + one},
		"another":                 {before: one, after: "{policyName: o, ruleNames: [r]}", want: []string{"p"}},
		"one of two":              {before: one + ", {policyName: o, ruleNames: [r]}", after: one, want: []string{"o"}},
		"a Policy of that name":   {before: one, after: "{policyName: a/p, ruleNames: [r]}", want: []string{"p"}},
		"none":                    {before: one, want: []string{"p"}},
		"several rules":           {before: one, after: "{policyName: p, ruleNames: [r, s]}", want: []string{"p"}},
		"several rules beside it": {before: one, after: "{policyName: p, ruleNames: [r, s]}, " + one},
		"had several rules":       {before: "{policyName: p, ruleNames: [r, s]}", after: "{policyName: o, ruleNames: [r]}"},
		"had no rules":            {before: "{policyName: p}", after: "{policyName: o, ruleNames: [r]}", want: []string{"p"}},
		"was a Policy":            {before: "{policyName: a/p, ruleNames: [r]}", after: one},

		"the same, conditions":     {conditions: true, before: "{name: p, kind: ValidatingPolicy}", after: "{kind: ValidatingPolicy, name: p}"},
		"one more, conditions":     {conditions: true, before: "{name: p, kind: A}", after: "{name: o, kind: A}, {name: p, kind: A}"},
		"another, conditions":      {conditions: true, before: "{name: p, kind: A}", after: "{name: o, kind: A}", want: []string{"p"}},
		"another kind, conditions": {conditions: true, before: "{name: p, kind: A}", after: "{name: p, kind: B}", want: []string{"p"}},
		"none, conditions":         {conditions: true, before: "{name: p, kind: A}, {name: o, kind: B}", want: []string{"p", "o"}},
	} {
		t.Run(name, func(t *testing.T) {
			of := func(refs string) string {
				head, field := "kyverno.io/v2", "exceptions"
				if tc.conditions {
					head, field = "policies.kyverno.io/v1", "policyRefs"
				}
				return fmt.Sprintf("apiVersion: %s\nkind: PolicyException\nmetadata: {name: a, namespace: b}\nspec: {%s: [%s]}\n", head, field, refs)
			}
			got := kyverno.Dropped(document(t, of(tc.before)), document(t, of(tc.after)))
			expect.Equal(t, "result", tc.want, got)
		})
	}
	config := document(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	expect.Empty(t, "dropped", kyverno.Dropped(config, config))
}
