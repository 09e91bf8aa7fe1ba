package translate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno/translate"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

var whole = translate.Translation{
	PolicyKinds: map[string]string{"require-probes": "ValidatingPolicy", "team-a/require-probes": "NamespacedValidatingPolicy", "other": "MutatingPolicy"},
	WholePolicy: true,
}

const spoken = `apiVersion: kyverno.io/v2beta1
kind: PolicyException
metadata:
  name: web-probes
  namespace: team-a
  labels: {team: a, "on": "yes"}
  annotations:
    polex.dev/reason: "the vendor's image: no health endpoint" # a comment is lost
    polex.dev/ticket: SEC-1
    polex.dev/approved-by: |
      jane
    polex.dev/expires-at: "2026-06-08T12:00:00Z"
    polex.dev/owner: team-a@example.com
    note: |-
      two
      lines
spec:
  background: true
  exceptions:
  - policyName: team-a/require-probes
    ruleNames: [check, autogen-check]
  - {policyName: team-a/require-probes, ruleNames: [other]}
  match:
    any:
    - resources: {kinds: [Deployment, Pod], names: [web, web-*], namespaces: [team-a]}
    - resources: {kinds: [Job], selector: {matchLabels: {app: web}}}
`

const translatedSpoken = `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata:
  name: web-probes
  namespace: team-a
  labels:
    "on": "yes"
    team: a
  annotations:
    note: |-
      two
      lines
    polex.dev/owner: "team-a@example.com"
spec:
  policyRefs:
  - kind: NamespacedValidatingPolicy
    name: require-probes
  matchConditions:
  - name: match
    expression: |-
      [request.operation == 'DELETE' ? oldObject : object].exists(it,
        (
        ((it.kind == 'Deployment' || it.kind == 'Pod') &&
         (!has(request.subResource) || request.subResource == '' || request.subResource == 'ephemeralcontainers' && it.apiVersion == 'v1' && it.kind == 'Pod') &&
         [has(it.metadata.name) && it.metadata.name != '' ? it.metadata.name : has(it.metadata.generateName) ? it.metadata.generateName : ''].exists(name, (name == 'web' || name.matches('^web-.*$'))) &&
         has(it.metadata.namespace) && it.metadata.namespace == 'team-a') ||
        (it.kind == 'Job' &&
         (!has(request.subResource) || request.subResource == '') &&
         has(it.metadata.labels) && 'app' in it.metadata.labels && it.metadata.labels['app'] == 'web')
        ) && has(it.metadata.namespace) && it.metadata.namespace == 'team-a'
      )
  expiresAt: "2026-06-08T12:00:00Z"
  properties:
    approved-by: "jane\n"
    reason: "the vendor's image: no health endpoint"
    ticket: SEC-1
`

func translated(t *testing.T, source string, how translate.Translation) (string, []translate.Note, error) {
	t.Helper()
	doc := must.Get(exception.NewReader(strings.NewReader(source), "file.yaml").Large().Next())(t)
	out, notes, err := translate.Exception(doc, how)
	return string(out), notes, err
}

func TestTranslate(t *testing.T) {
	got, notes, err := translated(t, spoken, whole)
	if err != nil || len(notes) > 0 {
		t.Fatal(notes, err)
	}
	expect.Equal(t, "translation", translatedSpoken, got)
	for range 20 {
		again, _, _ := translated(t, spoken, whole)
		must.That(t, again == got, "the same document gives another text:\n%s", again)
	}
	// Like its source, it names its approver. Its second policy has a namespaced kind.
	var reasons []string
	for _, f := range checked(t, got) {
		reasons = append(reasons, f.Reason)
	}
	expect.Equal(t, "the translation is not well shaped",
		[]string{"kept-by-kyverno", shape.ReasonClaimsReview}, reasons)
}

// TestTranslationKeepsWhatIsResolvedLater: a duration begins at the signing and becomes a time only then.
func TestTranslationKeepsWhatIsResolvedLater(t *testing.T) {
	got, notes, err := translated(t, legacy, whole)
	if err != nil || len(notes) > 0 {
		t.Fatal(notes, err)
	}
	expect.That(t, strings.Contains(got, "    polex.dev/expires-in: \"7d\"\n") && !strings.Contains(got, "expiresAt"),
		"the duration is not an annotation:\n%s", got)
}

func TestTranslationNotes(t *testing.T) {
	resources := func(with string) string {
		head, _, _ := strings.Cut(legacy, legacyMatch)
		return head + "  match: {any: [{" + with + "}]}\n"
	}
	const filter = "spec.match.any[0]"
	for _, tc := range []struct {
		name, source string
		how          translate.Translation
		want         []string // line and path
	}{
		{"nothing said of the policies", legacy, translate.Translation{}, []string{"11 spec.exceptions[0].policyName", "12 spec.exceptions[0].ruleNames"}},
		{"some rules", legacy, translate.Translation{PolicyKinds: whole.PolicyKinds}, []string{"12 spec.exceptions[0].ruleNames"}},
		{"every rule", replaced(legacy, "[check, autogen-check]", "['*']"), translate.Translation{PolicyKinds: whole.PolicyKinds}, nil},
		{"no rule", replaced(legacy, "[check, autogen-check]", "[]"), whole, []string{"12 spec.exceptions[0].ruleNames"}},
		{"no policy", replaced(legacy, "  exceptions:\n  - policyName: require-probes\n    ruleNames: [check, autogen-check]\n", "  exceptions: []\n"), whole, []string{"10 spec.exceptions"}},
		{"another policy", replaced(legacy, "require-probes", "unheard-of"), whole, []string{"11 spec.exceptions[0].policyName"}},
		{"no kind of policy", legacy, translate.Translation{WholePolicy: true, PolicyKinds: map[string]string{"require-probes": "ClusterPolicy"}}, []string{"11 spec.exceptions[0].policyName"}},
		{"moved into a namespace", legacy, translate.Translation{WholePolicy: true, PolicyKinds: map[string]string{"require-probes": "NamespacedValidatingPolicy"}}, []string{"11 spec.exceptions[0].policyName"}},
		{"two places", replaced(legacy, "  match:\n", "  - {policyName: team-a/require-probes, ruleNames: [a]}\n  match:\n"), whole, []string{"13 spec.exceptions[1].policyName"}},
		{"conditions", replaced(legacy, "  match:\n", "  conditions: {any: [{key: a, operator: Equals, value: a}]}\n  match:\n"), whole, []string{"13 spec.conditions"}},
		{"podSecurity", replaced(legacy, "  match:\n", "  podSecurity: [{controlName: Capabilities}]\n  match:\n"), whole, []string{"13 spec.podSecurity"}},
		{"not in background scans", replaced(legacy, "  match:\n", "  background: false\n  match:\n"), whole, []string{"13 spec.background"}},
		{"not in background scans, and any user", replaced(resources("subjects: [{kind: User, name: '*'}]"), "  match:", "  background: false\n  match:"), whole, []string{"13 spec.background"}},
		{"users in background scans", resources("resources: {names: [web]}, subjects: [{kind: User, name: jane}]"), whole, []string{"13 " + filter + ".subjects"}},
		{"users of one filter", replaced(resources("subjects: [{kind: User, name: jane}]}, {resources: {names: [web]}"), "  match:", "  background: false\n  match:"), whole, []string{"13 spec.background"}},
		{"a subject of no kind", replaced(resources("subjects: [{kind: Robot, name: jane}]"), "  match:", "  background: false\n  match:"), whole, []string{"14 " + filter + ".subjects[0].kind"}},
		{"roles", resources("resources: {names: [web]}, roles: [a:b], clusterRoles: [c]"), whole, []string{"13 " + filter + ".roles", "13 " + filter + ".clusterRoles"}},
		{"no match", replaced(legacy, legacyMatch, "  match: {}\n"), whole, []string{"13 spec.match"}},
		{"empty filter", resources("resources: {kinds: [], name: '', annotations: {}}"), whole, []string{"13 " + filter}},
		{"every resource", resources("resources: {selector: {}}"), whole, []string{"13 " + filter}},
		{"operations", resources("resources: {names: [web], operations: [CREATE]}"), whole, []string{"13 " + filter + ".resources.operations"}},
		{"subresource", resources("resources: {kinds: [Pod/exec, '*/*', Deployment.scale, v1/Pod/log]}"), whole,
			[]string{"13 " + filter + ".resources.kinds[0]", "13 " + filter + ".resources.kinds[1]", "13 " + filter + ".resources.kinds[2]", "13 " + filter + ".resources.kinds[3]"}},
		{"no kind", resources("resources: {kinds: [a/b/c/d/e]}"), whole, []string{"13 " + filter + ".resources.kinds[0]"}},
		{"clashing labels", resources("resources: {selector: {matchLabels: {'ap*': x, app: web}}}"), whole, []string{`13 ` + filter + `.resources.selector.matchLabels["ap*"]`}},
		{"no label", resources("resources: {selector: {matchLabels: {'a b': x, c: '!'}}}"), whole, []string{`13 ` + filter + `.resources.selector.matchLabels["a b"]`, "13 " + filter + ".resources.selector.matchLabels.c"}},
		{"no operator", resources("resources: {namespaceSelector: {matchExpressions: [{key: a, operator: Like, values: [b]}, {key: a, operator: In}, {key: a, operator: Exists, values: [b]}]}}"), whole,
			[]string{"13 " + filter + ".resources.namespaceSelector.matchExpressions[0].operator", "13 " + filter + ".resources.namespaceSelector.matchExpressions[1]", "13 " + filter + ".resources.namespaceSelector.matchExpressions[2].values"}},
		{"an unreadable lifetime", replaced(legacy, "7d", "soon"), whole, []string{"8 metadata.annotations[\"polex.dev/expires-in\"]"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source, notes, err := translated(t, tc.source, tc.how)
			must.Do(t, err)
			var got []string
			for _, n := range notes {
				got = append(got, fmt.Sprintf("%d %s", n.Position.Line, n.Path))
				expect.That(t, n.Message != "" && n.Position.File == "file.yaml", "incomplete: %+v", n)
			}
			expect.Equal(t, "notes", tc.want, got)
			expect.Is(t, "no document", len(notes) > 0, source == "")
		})
	}
}

func TestTranslateRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ source, want string }{
		"the new form":    {replaced(legacy, "kyverno.io/v2", "policies.kyverno.io/v1"), "expected a PolicyException"},
		"another kind":    {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", "expected a PolicyException"},
		"a broken schema": {replaced(legacy, "ruleNames", "rules"), "validate the exception first"},
		"a sealed one":    {replaced(legacy, "    polex.dev/expires-in", "    cosign.sigstore.dev/message: x\n    polex.dev/expires-in"), "translate the draft"},
	} {
		source, notes, err := translated(t, tc.source, whole)
		expect.That(t, err != nil && strings.Contains(err.Error(), tc.want) && source == "" && notes == nil,
			"%s: %q %v %v", name, source, notes, err)
	}
}
