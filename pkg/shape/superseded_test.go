package shape_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
)

func TestSuperseded(t *testing.T) {
	resolved := strings.Replace(legacy, "    polex.dev/expires-in: 7d\n", "    polex.dev/expires-in: 7d\n    polex.dev/expires-at: \"2026-06-08T12:00:00Z\"\n", 1)
	for _, tc := range []struct{ name, live, old, new, want string }{
		{name: "as it is", live: resolved, want: "set.yaml:1:1"},
		{name: "sooner over", live: resolved, old: "7d", new: "6d", want: "set.yaml:1:1"},
		{name: "of another version", live: strings.Replace(resolved, "kyverno.io/v2", "kyverno.io/v2beta1", 1), want: "set.yaml:1:1"},
		{name: "fewer rules", live: resolved, old: "[check, autogen-check]", new: "[check]", want: "set.yaml:1:1"},
		{name: "a rule more", live: resolved, old: "[check, autogen-check]", new: "[check, autogen-check, other]", want: `changes it: the rule "other" of "require-probes" is new`},
		{name: "a rule of a pattern", live: strings.Replace(resolved, "autogen-check]", "autogen-*]", 1), old: "autogen-check]", new: "autogen-cronjob-check]", want: "set.yaml:1:1"},
		{name: "a wider pattern", live: strings.Replace(resolved, "autogen-check]", "'autogen-???']", 1), old: "autogen-check]", new: "'autogen-?*?']", want: `the rule "autogen-?*?" of "require-probes" is new`},
		{name: "another policy", live: resolved, old: "policyName: require-probes", new: "policyName: other", want: `the policy "other" is new`},
		{name: "longer", live: resolved, old: "7d", new: "8d", want: "it expires at 2026-06-09T12:00:00Z instead of 2026-06-08T12:00:00Z"},
		{name: "for ever", live: resolved, old: "    polex.dev/expires-in: 7d\n", new: "", want: "changes it: it has no expiry"},
		{name: "for ever, as it is", live: strings.Replace(legacy, "    polex.dev/expires-in: 7d\n", "", 1), old: "    polex.dev/expires-in: 7d\n", new: "", want: "set.yaml:1:1"},
		{name: "for another resource", live: resolved, old: "names: [web]", new: "names: [api]", want: "changes it: the match differs"},
		{name: "another name", live: resolved, old: "name: web-probes", new: "name: other"},
		{name: "of the other group", live: policies},
	} {
		var set shape.Set
		set.Live(slices.Values(documents(tc.live)), now)
		var found []shape.Finding
		for _, f := range set.Add(change{of: legacy, old: tc.old, new: tc.new}.document(t)) {
			if f.Reason == "superseded" {
				found = append(found, f)
			}
		}
		if len(found) > 1 || len(found) == 1 != (tc.want != "") {
			t.Errorf("%s: %v", tc.name, found)
			continue
		}
		for _, f := range found {
			expect.That(t, f.Severity == shape.Warning && f.Position.Line == 4 && strings.HasSuffix(f.Message, tc.want),
				"%s: %+v", tc.name, f)
		}
	}
}

func TestSupersededByGroup(t *testing.T) {
	var set shape.Set
	set.Live(slices.Values(documents(policies)), now)
	found := set.Add(change{of: policies, old: "kind: ValidatingPolicy", new: "kind: MutatingPolicy\n  - {name: more, kind: ValidatingPolicy}"}.document(t))
	if len(found) != 1 || !strings.HasSuffix(found[0].Message, `changes it: the policy "require-probes" is new, the policy "more" is new`) {
		t.Errorf("%v", found)
	}
}

func TestSupersededIsBounded(t *testing.T) {
	var rules []string
	for i := range 1000 {
		rules = append(rules, fmt.Sprintf("r%d", i))
	}
	var set shape.Set
	set.Live(slices.Values(documents(legacy)), now)
	found := set.Add(change{of: legacy, old: "check, autogen-check", new: strings.Join(rules, ", ")}.document(t))
	if len(found) != 1 || strings.Count(found[0].Message, "is new") != 5 || !strings.HasSuffix(found[0].Message, "and 995 more") {
		t.Errorf("%v", found)
	}
}

// TestTheLiveOneItself: signed/ can be validated too.
func TestTheLiveOneItself(t *testing.T) {
	live := documents(legacy)
	var set shape.Set
	set.Live(slices.Values(live), now)
	found := set.Add(live[0])
	expect.That(t, found == nil, "%v", found)
}
