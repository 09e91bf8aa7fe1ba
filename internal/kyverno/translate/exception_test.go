package translate_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/cel"

	"github.com/polex-dev/polex/internal/kyverno/translate"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/documents"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// legacy is an exception without a problem.
const legacy = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: web-probes
  namespace: team-a
  annotations:
    polex.dev/reason: the vendor's image has no health endpoint
    polex.dev/expires-in: 7d
spec:
  exceptions:
  - policyName: require-probes
    ruleNames: [check, autogen-check]
  match:
    any:
    - resources:
        kinds: [Deployment]
        names: [web]
        namespaces: [team-a]
`

// legacyMatch is its match.
var legacyMatch = legacy[strings.LastIndex(legacy, "  match:"):]

func replaced(text, old, with string) string {
	if !strings.Contains(text, old) {
		panic("there is no " + old)
	}
	return strings.Replace(text, old, with, 1)
}

// checked returns the findings on an exception for Kyverno 1.20.
func checked(t *testing.T, source string) []shape.Finding {
	t.Helper()
	doc := must.Get(exception.Parse([]byte(source), "file.yaml"))(t)
	checker := must.Get(shape.New(shape.Config{KyvernoVersion: "1.20"}))(t)
	return checker.Check(doc, now)
}

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

// plainly translates without a note.
func plainly(t *testing.T, source string) string {
	t.Helper()
	text, notes, err := translated(t, source, whole)
	must.That(t, err == nil && len(notes) == 0, "%s: %v %v", source, notes, err)
	return text
}

// matching is the legacy exception with another match.
func matching(match string) string {
	head, _, _ := strings.Cut(legacy, "  match:\n")
	if strings.Contains(match, "subjects") {
		head += "  background: false\n"
	}
	return head + "  match: {" + match + "}\n"
}

func TestTranslate(t *testing.T) {
	got := plainly(t, spoken)
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
	expect.Equal(t, "the translation is not well shaped", []string{"kept-by-kyverno", shape.ReasonClaimsReview}, reasons)
}

// TestTranslationKeepsWhatIsResolvedLater: a duration begins at the signing and becomes a time only then.
func TestTranslationKeepsWhatIsResolvedLater(t *testing.T) {
	got := plainly(t, legacy)
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

// TestTranslationExemptsTheSameFiles compares the resources that the two forms of a match exempt, where
// the translated conditions are plain.
func TestTranslationExemptsTheSameFiles(t *testing.T) {
	named := slices.DeleteFunc(strings.Split(strings.TrimSpace(resources), "\n"), func(line string) bool { return strings.Contains(line, "generateName") })
	files := documents.All(t, "# one a line\n"+strings.Join(named, "\n---\n")+"\n")
	checker := must.Get(shape.New(shape.Config{Resources: shape.ReadResources(files)}))(t)
	some := 0
	for _, match := range matches {
		old, translated := documents.All(t, matching(match))[0], documents.All(t, plainly(t, matching(match)))[0]
		before, after := checker.Exempted(old), checker.Exempted(translated)
		if !after.Known {
			continue // files cannot tell
		}
		expect.That(t, said(before) == said(after) && !after.Cut,
			"%s exempts %q, and translated %q", match, said(before), said(after))
		if before.Count > 0 {
			some++
		}
	}
	expect.AtLeast(t, "matches that exempt anything", 3, some)
}

// said returns the exempted resources and the assumptions. The match has patterns of kinds, and the
// translation names kinds. Controllers create the objects of some of them.
func said(found shape.Exemption) string {
	assumed := slices.DeleteFunc(slices.Clone(found.Assumed), func(text string) bool { return strings.Contains(text, "no controller makes more") })
	return fmt.Sprint(found.Resources, assumed)
}

// TestTranslationsReachTheGuardAlike: ReachesGuard recognises the coverage of a translation as well
// as that of its source.
func TestTranslationsReachTheGuardAlike(t *testing.T) {
	for match, want := range map[string]bool{
		"{any: [{resources: {kinds: [Pod]}}]}":                                                                              false,
		"{any: [{resources: {kinds: [Pod], names: [web-*, api]}}]}":                                                         false,
		"{any: [{resources: {kinds: [Pod, 'apps/*/Deploy*'], namespaces: [team-a, 'team-?-*']}}]}":                          false,
		"{any: [{resources: {namespaces: [argocd]}}]}":                                                                      false,
		"{any: [{resources: {namespaces: [argocd, 'argo-*'], names: ['*-server']}}]}":                                       false,
		"{any: [{resources: {kinds: [Namespace, Pod], namespaces: [team-a]}}]}":                                             false,
		"{any: [{resources: {kinds: [Pod], selector: {matchLabels: {app: web}}}}]}":                                         false,
		"{any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {team: a}}}}]}":                                 false,
		"{all: [{resources: {kinds: [Pod]}}, {resources: {namespaces: [team-a]}}]}":                                         false,
		"{any: [{resources: {kinds: [Pod], namespaces: [team-a]}}, {resources: {kinds: [batch/v1/Job], names: ['web?']}}]}": false,
		"{any: [{resources: {kinds: [Pod], namespaces: [kyverno]}}]}":                                                       true,
		"{any: [{resources: {kinds: [Pod], namespaces: ['kyv*']}}]}":                                                        true,
		"{any: [{resources: {kinds: ['Policy*'], namespaces: [team-a]}}]}":                                                  true,
		"{any: [{resources: {kinds: [Namespace], names: ['kyv*']}}]}":                                                       true,
	} {
		source := "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: a, namespace: b}\nspec:\n  exceptions: [{policyName: require-probes, ruleNames: [check]}]\n  match: " + match + "\n"
		for _, one := range []string{source, plainly(t, source)} {
			reaches := func(f shape.Finding) bool { return f.Reason == shape.ReasonReachesGuard }
			expect.Is(t, one, want, slices.ContainsFunc(checked(t, one), reaches))
		}
	}
}

// FuzzTranslate checks that a translation gives notes, an error, or a valid document with a valid condition.
func FuzzTranslate(f *testing.F) {
	f.Add([]byte(legacy))
	f.Add([]byte(spoken))
	head, _, _ := strings.Cut(legacy, "  match:\n")
	for _, match := range matches {
		f.Add([]byte(head + "  background: false\n  match: {" + match + "}\n"))
	}
	env := must.Get(cel.NewEnv(cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType),
		cel.Variable("request", cel.DynType), cel.Variable("namespaceObject", cel.DynType)))(f)
	f.Fuzz(func(t *testing.T, source []byte) {
		doc, err := exception.Parse(source, "")
		if err != nil {
			return
		}
		out, notes, err := translate.Exception(doc, whole)
		if err != nil || len(notes) > 0 {
			must.That(t, out == nil && (err == nil || notes == nil), "%v, and %q, and %v", err, out, notes)
			return
		}
		translated := must.Get(exception.Parse(out, ""))(t)
		if exc, ok := translated.Exception(); !ok || exc.Identity.Group != exception.PoliciesGroup || exc.Identity.Name != doc.Identity().Name || exc.Identity.Namespace != doc.Identity().Namespace {
			t.Fatalf("it is no longer the same exception:\n%s", out)
		}
		_, issues := env.Compile(translated.Text("spec", "matchConditions", 0, "expression"))
		must.That(t, issues.Err() == nil, "%v\n%s", issues.Err(), out)
		again, _, _ := translate.Exception(doc, whole)
		must.That(t, bytes.Equal(again, out), "twice is not the same:\n%s%s", out, again)
	})
}

// TestTranslateIsBounded translates documents that would take minutes if all pairs of entries were compared.
func TestTranslateIsBounded(t *testing.T) {
	head, _, _ := strings.Cut(legacy, legacyMatch)
	_, notes, err := translated(t, head+"  match: {any: [{resources: {selector: {matchLabels: {"+numbered("'a%d*': 'b'", 10000)+"}}}}]}\n", whole)
	expect.That(t, err == nil && len(notes) == 200, "patterns of labels: %d notes, %v", len(notes), err)
	source, notes, err := translated(t, replaced(legacy, "  match:\n", strings.Repeat("  - {policyName: require-probes, ruleNames: [a]}\n", 10000)+"  match:\n"), whole)
	expect.That(t, err == nil && len(notes) == 0 && strings.Count(source, "require-probes") == 1,
		"one policy many times: %d notes, %v", len(notes), err)
	_, _, err = translated(t, head+"  match: {any: ["+numbered("{resources: {kinds: [Pod], names: ['a%d*']}}", 5000)+"]}\n", whole)
	expect.Error(t, err, "larger than") // no document can hold it
}

func numbered(format string, n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(out, ", ")
}
