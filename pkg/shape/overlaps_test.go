package shape_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// exceptionFor returns a kyverno.io exception from some rules of a policy.
func exceptionFor(name, policy, rules, match string) string {
	return fmt.Sprintf("apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: %s, namespace: team-a}\nspec:\n  exceptions:\n  - {policyName: %s, ruleNames: [%s]}\n  match: %s\n", name, policy, rules, match)
}

// conditional returns a policies.kyverno.io exception.
func conditional(name, ref string, conditions ...string) string {
	text := fmt.Sprintf("apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {name: %s}\nspec:\n  policyRefs: [%s]\n  matchConditions:\n", name, ref)
	for i, c := range conditions {
		text += fmt.Sprintf("  - {name: c%d, expression: %q}\n", i, c)
	}
	return text
}

// TestOverlapsInClusters: exceptions without a common cluster do not overlap.
func TestOverlapsInClusters(t *testing.T) {
	const match = "{any: [{resources: {kinds: [Deployment], names: [web]}}]}"
	in := func(name, clusters string) string {
		return strings.Replace(exceptionFor(name, "p", "check", match), "namespace: team-a", "namespace: team-a, annotations: {polex.dev/cluster: '"+clusters+"'}", 1)
	}
	for clusters, want := range map[string]bool{"test-1": false, "test-*": false, "prod-eu": true, "prod-*, test": true, "test, *-eu": true} {
		var set shape.Set
		added(&set, in("one", "prod-eu, prod-us"))
		expect.Is(t, clusters, want, len(added(&set, in("two", clusters))) > 0)
	}
}

func added(set *shape.Set, source string) []shape.Finding {
	d, err := exception.Parse([]byte(source), "unsigned/file.yaml")
	if err != nil {
		panic(err)
	}
	return set.Add(d)
}

func TestOverlaps(t *testing.T) {
	on := func(resources string) string { return "{any: [{resources: {" + resources + "}}]}" }
	web := on("kinds: [Deployment], names: [web], namespaces: [team-a]")
	for _, tc := range []struct{ name, rules, other, otherRules, match, with, want string }{
		{name: "the same", match: web, with: web, want: "Deployment team-a/web"},
		{name: "another policy", other: "q", match: web, with: web},
		{name: "another rule", otherRules: "other", match: web, with: web},
		{name: "a pattern for the rule", otherRules: "'che*'", match: web, with: web, want: "Deployment team-a/web"},
		{name: "patterns for the rules", rules: "'c*'", otherRules: "'*k'", match: web, with: web, want: "Deployment team-a/web"},
		{name: "patterns that do not meet", rules: "'a*'", otherRules: "'b*'", match: web, with: web},
		{name: "a rule in other letters", otherRules: "Check", match: web, with: web},
		{name: "another name", match: web, with: on("kinds: [Deployment], names: [api], namespaces: [team-a]")},
		{name: "another pattern, alone", match: on("kinds: [Deployment], name: 'web-*'"), with: on("kinds: [Deployment], name: 'api-*'")},
		{name: "another namespace", match: web, with: on("kinds: [Deployment], names: [web], namespaces: [team-b]")},
		{name: "another kind", match: web, with: on("kinds: [StatefulSet], names: [web], namespaces: [team-a]")},
		{name: "a group and version of the kind", match: web, with: on("kinds: [apps/v1/Deployment], names: [web], namespaces: [team-a]"), want: "Deployment team-a/web"},
		{name: "two groups of the kind", match: on("kinds: [apps/v1/Deployment], names: [web]"), with: on("kinds: [example.com/v1/Deployment], names: [web]")},
		{name: "a subresource of the kind", match: on("kinds: [Pod], names: [web]"), with: on("kinds: [Pod/exec], names: [web]")},
		{name: "no kind that is named", match: on("kinds: ['*'], names: [web]"), with: on("kinds: ['Dep*'], names: [web]")},
		{name: "any namespace", match: web, with: on("kinds: [Deployment], names: [web]"), want: "Deployment team-a/web"},
		{name: "any name", match: web, with: on("kinds: [Deployment], namespaces: [team-a]"), want: "Deployment team-a/web"},
		{name: "a pattern for the name", match: web, with: on("kinds: [Deployment], names: ['we?'], namespaces: ['team-*']"), want: "Deployment team-a/web"},
		{name: "patterns for the names", match: on("kinds: [Deployment], names: ['web-*']"), with: on("kinds: [Deployment], names: ['*-db']"), want: "Deployment web-any-db"},
		{name: "patterns for the names that do not meet", match: on("kinds: [Deployment], names: ['web-*']"), with: on("kinds: [Deployment], names: ['api-*']")},
		{name: "in the second filter", match: "{any: [{resources: {kinds: [Service], names: [a]}}, {resources: {kinds: [Deployment], names: [web]}}]}", with: web, want: "Deployment team-a/web"},
		{name: "all filters", match: "{all: [{resources: {kinds: [Deployment]}}, {resources: {names: [web]}}, {resources: {namespaces: ['*-a']}}]}", with: web, want: "Deployment team-a/web"},
		{name: "all filters but one", match: "{all: [{resources: {kinds: [Deployment]}}, {resources: {names: [web]}}, {resources: {names: [api]}}]}", with: web},
		{name: "labels on one side", match: web, with: on("kinds: [Deployment], selector: {matchLabels: {app: 'w*'}, matchExpressions: [{key: tier, operator: In, values: [gold]}, {key: x, operator: Exists}]}"), want: "Deployment team-a/web"},
		{name: "labels that go together", match: on("kinds: [Deployment], selector: {matchLabels: {app: web}}"), with: on("kinds: [Deployment], selector: {matchLabels: {tier: gold}}"), want: "Deployment any"},
		{name: "labels that do not", match: on("kinds: [Deployment], selector: {matchLabels: {app: web}}"), with: on("kinds: [Deployment], selector: {matchLabels: {app: api}}")},
		{name: "a label that must not be", match: on("kinds: [Deployment], selector: {matchLabels: {app: web}}"), with: on("kinds: [Deployment], selector: {matchExpressions: [{key: app, operator: DoesNotExist}]}")},
		{name: "a label that cannot be", match: on("kinds: [Deployment], selector: {matchLabels: {app: 'a b'}}"), with: web},
		{name: "labels of namespaces", match: on("kinds: [Deployment], names: [web], namespaceSelector: {matchLabels: {tier: gold}}"), with: web, want: "Deployment team-a/web"},
		{name: "labels of namespaces that do not go together", match: on("kinds: [Deployment], namespaceSelector: {matchLabels: {tier: gold}}"), with: on("kinds: [Deployment], namespaceSelector: {matchLabels: {tier: silver}}")},
		{name: "a namespace that is not its own", match: on("kinds: [Deployment], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: team-b}}"), with: web},
		{name: "annotations", match: on("kinds: [Deployment], annotations: {'a.b/*': c}"), with: web, want: "Deployment team-a/web"},
		{name: "annotations that do not go together", match: on("kinds: [Deployment], annotations: {a: b}"), with: on("kinds: [Deployment], annotations: {a: c}")},
		{name: "a namespace itself", match: on("kinds: [Namespace], namespaces: [team-a]"), with: on("kinds: [Namespace], names: ['team-*']"), want: "Namespace team-a"},
		{name: "people on one side", match: "{any: [{resources: {kinds: [Deployment], names: [web]}, subjects: [{kind: User, name: a}]}]}", with: web, want: "Deployment team-a/web"},
		{name: "people on both sides", match: "{any: [{resources: {kinds: [Deployment], names: [web]}, subjects: [{kind: User, name: a}]}]}", with: "{any: [{resources: {kinds: [Deployment], names: [web]}, subjects: [{kind: User, name: b}]}]}"},
		{name: "a condition", match: web + "\n  conditions: {any: []}", with: web},
		{name: "the same condition", match: web + "\n  conditions: {any: []}", with: web + "\n  conditions: {any: []}", want: "Deployment team-a/web"},
		{name: "some controls and all", match: web + "\n  podSecurity: [{controlName: Capabilities}]", with: web, want: "Deployment team-a/web"},
		{name: "some controls and others", match: web + "\n  podSecurity: [{controlName: Capabilities}]", with: web + "\n  podSecurity: [{controlName: Seccomp}]"},
		{name: "nothing is matched", match: "{}", with: "{}"},
		{name: "a filter that says nothing", match: on(""), with: web},
	} {
		one := exceptionFor("one", "p", cmp.Or(tc.rules, "check"), tc.match)
		two := exceptionFor("two", cmp.Or(tc.other, "p"), cmp.Or(tc.otherRules, "check"), tc.with)
		for _, pair := range [][2]string{{one, two}, {two, one}} {
			var set shape.Set
			if found := added(&set, pair[0]); found != nil {
				t.Errorf("%s: %v", tc.name, found)
			}
			found := added(&set, pair[1])
			if len(found) > 1 || len(found) == 1 != (tc.want != "") {
				t.Errorf("%s: %v", tc.name, found)
				continue
			}
			for _, f := range found {
				if f.Reason != shape.ReasonOverlaps || f.Severity != shape.Warning || f.Position.Line != 6 || !strings.Contains(f.Message, " at unsigned/file.yaml:1:1 ") || !strings.HasSuffix(f.Message, fmt.Sprintf("%q", tc.want)) {
					t.Errorf("%s: %+v", tc.name, f)
				}
			}
		}
	}
}

func TestOverlapsOfConditions(t *testing.T) {
	const ref, other = "{name: p, kind: ValidatingPolicy}", "{name: p, kind: MutatingPolicy}"
	one := conditional("one", ref, "object.metadata.name == 'web'", "object.kind == 'Deployment'")
	for _, tc := range []struct {
		name, with string
		want       bool
	}{
		{"the same", conditional("two", ref, "object.kind == 'Deployment'", "object.metadata.name == 'web'"), true},
		{"fewer", conditional("two", ref, "object.metadata.name == 'web'"), true},
		{"more", conditional("two", ref, "a", "object.metadata.name == 'web'", "object.kind == 'Deployment'"), true},
		{"others", conditional("two", ref, "object.metadata.name == 'api'"), false},
		{"others too", conditional("two", ref, "object.metadata.name == 'web'", "object.kind == 'Service'"), false},
		{"another kind of policy", conditional("two", other, "object.metadata.name == 'web'"), false},
		{"only some images", conditional("two", ref, "object.metadata.name == 'web'") + "  images: [a]\n", true},
		{"the other group", exceptionFor("two", "p", "check", "{any: [{resources: {kinds: [Deployment], names: [web]}}]}"), false},
	} {
		var set shape.Set
		added(&set, one)
		expect.Is(t, tc.name, tc.want, len(added(&set, tc.with)) > 0)
	}
}

// TestOverlapsAreFew has a thousand exceptions for everything, which all overlap.
func TestOverlapsAreFew(t *testing.T) {
	var set shape.Set
	for i := range 1000 {
		found := added(&set, exceptionFor(fmt.Sprintf("e%d", i), "p", "check", "{any: [{resources: {kinds: [Deployment]}}]}"))
		expect.Is(t, fmt.Sprint("findings of ", i), min(i, 5), len(found))
	}
}

// TestOverlapsAreFoundAmongMany has a thousand different exceptions from one policy, and one more.
func TestOverlapsAreFoundAmongMany(t *testing.T) {
	for name, match := range map[string]string{
		"names":      "{any: [{resources: {kinds: [Deployment], names: [web-%d], namespaces: [team-a]}}]}",
		"namespaces": "{any: [{resources: {kinds: [Deployment], names: ['web-*'], namespaces: [team-%d]}}]}",
	} {
		var set shape.Set
		for i := range 1000 {
			found := added(&set, exceptionFor(fmt.Sprintf("e%d", i), "p", "check", fmt.Sprintf(match, i)))
			must.That(t, found == nil, "%s: %v", name, found)
		}
		found := added(&set, exceptionFor("last", "p", "check", fmt.Sprintf(match, 777)))
		expect.That(t, len(found) == 1 && strings.Contains(found[0].Message, "e777"), "%s: %v", name, found)
	}
}

// TestOverlapsWithAPolicyNamedAgainAndAgain: an exception that names one policy many times is
// compared once, and does not use up the limit.
func TestOverlapsWithAPolicyNamedAgainAndAgain(t *testing.T) {
	const match = "{any: [{resources: {kinds: [Deployment], names: ['%s-*']}}]}"
	repeated := strings.Replace(exceptionFor("one", "p", "check", fmt.Sprintf(match, "api")), "  match:", strings.Repeat("  - {policyName: p, ruleNames: [check]}\n", 200)+"  match:", 1)
	var set shape.Set
	added(&set, repeated)
	added(&set, exceptionFor("two", "p", "check", fmt.Sprintf(match, "web")))
	found := added(&set, exceptionFor("three", "p", "check", fmt.Sprintf(match, "web")))
	expect.That(t, len(found) == 1 && strings.Contains(found[0].Message, "/two"), "%v", found)
}

// TestOverlapsAmongManyNamespaces has more namespaces and policies than the index keeps.
func TestOverlapsAmongManyNamespaces(t *testing.T) {
	var set shape.Set
	write := func(name string, i int) string {
		text := exceptionFor(name, fmt.Sprintf("p-%d", i), "check", fmt.Sprintf("{any: [{resources: {kinds: [Deployment], namespaces: [team-%d]}}]}", i))
		return strings.Replace(text, "namespace: team-a", fmt.Sprintf("namespace: home-%d", i), 1)
	}
	for i := range 8000 {
		expect.Empty(t, "found", added(&set, write("one", i)))
	}
	for _, i := range []int{0, 4000, 7999} {
		found := added(&set, write("two", i))
		if want := fmt.Sprintf(`home-%d/one" at unsigned/file.yaml:1:1 already exempts from the rule "check" of the policy "p-%d" for the same resources, e.g. "Deployment team-%d/any"`, i, i, i); len(found) != 1 || !strings.HasSuffix(found[0].Message, want) {
			t.Errorf("%d: %v", i, found)
		}
	}
}

func TestOverlapsWithLiveOnes(t *testing.T) {
	const match = "{any: [{resources: {kinds: [Deployment], names: [web]}}]}"
	var set shape.Set
	set.Live(slices.Values(documents(exceptionFor("live", "p", "check", match)+"---\n"+object("v1/Pod a/b"))), time.Time{})
	found := added(&set, exceptionFor("draft", "p", "check", match))
	if len(found) != 1 || found[0].Reason != shape.ReasonOverlaps || !strings.Contains(found[0].Message, "set.yaml:1:1") {
		t.Errorf("%v", found)
	}
}

func TestOverlapsWithOnesThatEnded(t *testing.T) {
	for expiry, want := range map[string]int{"2026-06-01T12:00:00Z": 0, "2026-06-01T12:00:01Z": 1} {
		var set shape.Set
		set.Live(slices.Values([]*exception.Document{change{of: policies, old: "2026-06-08T12:00:00Z", new: expiry}.document(t)}), now)
		found := set.Add(change{of: policies, old: "name: web-probes", new: "name: other"}.document(t))
		expect.Is(t, expiry, want, len(found))
	}
}

// TestOverlapsAreNotCrowdedOut: if overlaps are errors, many other exceptions do not hide one. If
// an exception cannot be compared with all, it is rejected.
func TestOverlapsAreNotCrowdedOut(t *testing.T) {
	const match = "{any: [{resources: {kinds: [%s], names: [web], namespaces: [team-a]}}]}"
	for thorough, want := range map[bool]string{false: "", true: "/live"} {
		set := shape.Set{Thorough: thorough}
		for i := range 150 {
			added(&set, exceptionFor(fmt.Sprintf("e%d", i), "p", "check", fmt.Sprintf(match, "Deployment")))
		}
		added(&set, exceptionFor("live", "p", "check", fmt.Sprintf(match, "StatefulSet")))
		found := added(&set, exceptionFor("last", "p", "check", fmt.Sprintf(match, "StatefulSet")))
		expect.That(t, len(found) > 0 == thorough && (len(found) == 0 || strings.Contains(found[0].Message, want)),
			"thorough %t: %v", thorough, found)
	}
	set := shape.Set{Thorough: true}
	rules := func(letter string) string {
		return "'*" + strings.Repeat(letter, 200) + "*'" + strings.Repeat(", '*"+strings.Repeat(letter, 200)+"'", 400)
	}
	added(&set, exceptionFor("one", "p", rules("a"), fmt.Sprintf(match, "Deployment")))
	added(&set, exceptionFor("two", "p", rules("b"), fmt.Sprintf(match, "Deployment")))
	found := added(&set, exceptionFor("three", "p", rules("c"), fmt.Sprintf(match, "Deployment")))
	expect.That(t, len(found) == 1 && strings.Contains(found[0].Message, "took too long"), "%v", found)
}
