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
		overlap(t, tc.name, one, two, tc.want)
	}
}

// sameConditions is the end of the message about exceptions with conditions in common.
const sameConditions = "under the same conditions"

// overlap compares two exceptions in both orders. They both exempt a resource, have common conditions, or do not overlap.
func overlap(t *testing.T, name, one, two, resource string) {
	t.Helper()
	end := resource
	if end != sameConditions {
		end = fmt.Sprintf("e.g. %q", resource)
	}
	for _, pair := range [][2]string{{one, two}, {two, one}} {
		var set shape.Set
		expect.Empty(t, name, added(&set, pair[0]))
		found := added(&set, pair[1])
		expect.That(t, len(found) <= 1 && len(found) == 1 == (resource != ""), "%s: %v", name, found)
		for _, f := range found {
			expect.That(t, f.Reason == shape.ReasonOverlaps && f.Severity == shape.Warning, "%s: %+v", name, f)
			expect.Contains(t, strings.Split(pair[1], "\n")[f.Position.Line-1], "policy") // Name, or Refs
			expect.Contains(t, f.Message+"\n", " at unsigned/file.yaml:1:1 ", end+"\n")
		}
	}
}

func TestOverlapsOfConditions(t *testing.T) {
	one := conditional("one", validating, "object.metadata.name == 'web'", "object.kind == 'Deployment'")
	two := conditional("two", validating, "object.metadata.name == 'web'")
	overlap(t, "another kind of policy", one, strings.Replace(two, "ValidatingPolicy", "MutatingPolicy", 1), "")
	overlap(t, "only some images", one, two+"  images: [a]\n", sameConditions)
	overlap(t, "the other group", one, exceptionFor("two", "p", "check", "{any: [{resources: {kinds: [Deployment], names: [web]}}]}"), "")
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
	matching := func(match string) func(name string, i int) string {
		return func(name string, i int) string { return exceptionFor(name, "p", "check", fmt.Sprintf(match, i)) }
	}
	for name, write := range map[string]func(name string, i int) string{
		"names":      matching("{any: [{resources: {kinds: [Deployment], names: [web-%d], namespaces: [team-a]}}]}"),
		"namespaces": matching("{any: [{resources: {kinds: [Deployment], names: ['web-*'], namespaces: [team-%d]}}]}"),
		"conditions": func(name string, i int) string {
			if name == "last" { // in another form
				return conditional(name, validating, "object.kind == 'Deployment'", fmt.Sprintf("has(object.metadata.namespace) && object.metadata.name == 'web-%d'", i))
			}
			return conditional(name, validating, "object.kind == 'Deployment'", "object.metadata.namespace == 'team-a'", fmt.Sprintf("object.metadata.name == 'web-%d'", i))
		},
	} {
		var set shape.Set
		for i := range 1000 {
			found := added(&set, write(fmt.Sprintf("e%d", i), i))
			must.That(t, found == nil, "%s: %v", name, found)
		}
		found := added(&set, write("last", 777))
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

// TestSupersededSays: the message has the new policies and rules, the first five of many.
func TestSupersededSays(t *testing.T) {
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("r%d", i))
	}
	for _, tc := range []struct {
		change
		want string
	}{
		{change{of: policies, old: "kind: ValidatingPolicy", new: "kind: MutatingPolicy\n  - {name: more, kind: ValidatingPolicy}"},
			`changes it: the policy "require-probes" is new, the policy "more" is new`},
		{change{of: legacy, old: "check, autogen-check", new: strings.Join(many, ", ")}, `the rule "r4" of "require-probes" is new, and 995 more`},
	} {
		var set shape.Set
		set.Live(slices.Values(documents(tc.of)), now)
		found := set.Add(tc.document(t))
		expect.That(t, len(found) == 1 && strings.HasSuffix(found[0].Message, tc.want), "%v", found)
	}
}

// TestTheLiveOneItself: signed/ can be validated too.
func TestTheLiveOneItself(t *testing.T) {
	live := documents(legacy)
	var set shape.Set
	set.Live(slices.Values(live), now)
	expect.Empty(t, "findings", set.Add(live[0]))
}

func TestSet(t *testing.T) {
	var set shape.Set
	for _, tc := range []struct {
		name, old, new string
		duplicate      bool
	}{
		{"the first", "", "", false},
		{"another name", "name: web-probes", "name: other", false},
		{"another namespace", "  namespace: team-a", "  namespace: team-b", false},
		{"another group", "kyverno.io/v2", "policies.kyverno.io/v1", false},
		{"another version", "kyverno.io/v2", "kyverno.io/v2beta1", true},
		{"another policy", "policyName: require-probes", "policyName: other", true},
	} {
		found := slices.DeleteFunc(set.Add(change{of: legacy, old: tc.old, new: tc.new}.document(t)), func(f shape.Finding) bool { return f.Reason == shape.ReasonOverlaps })
		expect.That(t, len(found) > 0 == tc.duplicate, "%s: %v", tc.name, found)
		for _, f := range found {
			if f.Reason != shape.ReasonDuplicateIdentity || f.Severity != shape.Error || f.Position.Line != 4 || !strings.Contains(f.Message, "file.yaml:1:1") {
				t.Errorf("%s: %+v", tc.name, f)
			}
		}
	}
}
