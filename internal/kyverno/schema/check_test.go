package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno/schema"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

const (
	legacyWhole = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: legacy.example
  namespace: team-a
  labels: {app.kubernetes.io/name: web, empty: ""}
  annotations:
    polex.dev/reason: migration
spec:
  background: false
  exceptions:
  - policyName: require-probes
    ruleNames: [check, autogen-check]
  match:
    any:
    - resources:
        kinds: [Deployment]
        names: [web]
        namespaces: [team-a]
        operations: [CREATE]
        annotations: {a: b}
        selector: {matchLabels: {app: web}}
        namespaceSelector:
          matchExpressions: [{key: team, operator: In, values: [a]}]
      roles: [a]
      clusterRoles: [b]
      subjects: [{kind: User, name: alice, apiGroup: rbac.authorization.k8s.io, namespace: x}]
  conditions:
    any:
    - key: "{{ request.object.x }}"
      operator: GreaterThan
      value: [1, 2.5, {deep: [true]}]
      message: why
    all: []
  podSecurity:
  - controlName: Running as Non-root
    images: [a]
    restrictedField: spec.securityContext
    values: [b]
`
	policiesWhole = `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata:
  name: cel
  namespace: team-a
spec:
  policyRefs:
  - name: require-probes
    kind: ValidatingPolicy
  matchConditions:
  - name: web
    expression: object.metadata.name == 'web'
  images: [registry.example/web:1]
  allowedValues: [x]
  reportResult: pass
  expiresAt: "2026-12-31T17:00:00+01:00"
  evaluationMode: Kubernetes
  properties: {reason: migration, ticket: T-1, approved-by: bob}
`
)

func mustParse(t testing.TB, source string) *exception.Document {
	t.Helper()
	return must.Get(exception.Parse([]byte(source), "exception.yaml"))(t)
}

// FuzzCheck checks that every problem is at a place of the document, in order, and that the defaults can be added.
func FuzzCheck(f *testing.F) {
	f.Add(legacyWhole)
	f.Add(policiesWhole)
	f.Add("apiVersion: policies.kyverno.io/v1\nkind: PolicyException\n\"\": [null, {}]\nmetadata: {\"\": 1, labels: {}}\nspec: {}\n")
	f.Fuzz(func(t *testing.T, source string) {
		d, err := exception.Parse([]byte(source), "")
		if err != nil {
			return
		}
		last := 0
		for _, p := range schema.Check(d) {
			line := d.PositionOf(p.Path).Line
			expect.That(t, line >= last && p.Message != "",
				"%q: the problem %v is on line %d, after one on line %d", source, p, line, last)
			last = line
		}
		if additions := schema.Defaults(d); len(additions) > 0 && !d.JSON() {
			if whole, err := d.Add(additions...); err == nil && schema.Defaults(whole) != nil {
				t.Errorf("%q has defaults to add again", source)
			}
		}
	})
}

func TestCheckAccepts(t *testing.T) {
	for _, source := range []string{legacyWhole, policiesWhole} {
		for _, version := range []string{"", "/v2beta1", "/v2alpha1", "/v1beta1", "/v1alpha1"} {
			d := mustParse(t, source)
			group := d.GroupKind().Group
			if strings.HasPrefix(version, "/v1") != (group == exception.PoliciesGroup) && version != "" {
				continue
			}
			if version != "" {
				d = mustParse(t, strings.Replace(source, d.APIVersion(), group+version, 1))
			}
			expect.Empty(t, "problems", schema.Check(d))
		}
	}
}

func TestCheckLeavesOtherKindsAlone(t *testing.T) {
	for _, source := range []string{
		"apiVersion: v1\nkind: ConfigMap\nnonsense: null\n",
		"apiVersion: kyverno.io\nkind: PolicyException\n",
		"apiVersion: kyverno.io/v2\nkind: policyexception\n",
		"kind: PolicyException\n",
		"{}",
	} {
		d := mustParse(t, source)
		expect.Is(t, source+": problems", 0, len(schema.Check(d)))
		expect.Is(t, source+": defaults", 0, len(schema.Defaults(d)))
	}
}

// TestCheck makes one change in a whole document and expects these problems: "line reason path".
func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name, of, old, new, want, hint string
	}{
		{name: "unknown version", of: legacyWhole, old: "kyverno.io/v2", new: "kyverno.io/v3",
			want: "1 unknown-version apiVersion", hint: "write kyverno.io/v2"},
		{name: "unknown version, and the rest is still checked", of: policiesWhole, old: "policies.kyverno.io/v1\n", new: "policies.kyverno.io/v2\nextra: 1\n",
			want: "1 unknown-version apiVersion; 2 unknown-field extra"},
		{name: "misspelt field", of: legacyWhole, old: "policyName:", new: "policyNme:",
			want: "12 unknown-field spec.exceptions[0].policyNme; 12 missing-field spec.exceptions[0].policyName", hint: `did you mean "policyName"?`},
		{name: "field in the wrong case", of: legacyWhole, old: "policyName:", new: "policyname:",
			want: "12 unknown-field spec.exceptions[0].policyname; 12 missing-field spec.exceptions[0].policyName", hint: `did you mean "policyName"?`},
		{name: "unlike any field", of: legacyWhole, old: "  background: false", new: "  verifyImages: false",
			want: "10 unknown-field spec.verifyImages", hint: "remove it, if the exception is right without it: the API server would drop it"},
		{name: "the other group's field", of: legacyWhole, old: "  background: false", new: "  policyRefs: []",
			want: "10 unknown-field spec.policyRefs"},
		{name: "the other group's fields", of: strings.Replace(legacyWhole, "kyverno.io/v2", "policies.kyverno.io/v1", 1),
			want: "11 unknown-field spec.exceptions", hint: "write apiVersion: kyverno.io/v2, or write policyRefs and matchConditions"},
		{name: "the other group's fields, of policies.kyverno.io", of: strings.Replace(policiesWhole, "policies.kyverno.io/v1", "kyverno.io/v2", 1),
			want: "7 unknown-field spec.policyRefs", hint: "write apiVersion: policies.kyverno.io/v1, or write exceptions and match"},
		{name: "images of the other group", of: legacyWhole, old: "  background: false", new: "  images: [a]",
			want: "10 unknown-field spec.images", hint: "below podSecurity, or an exception of policies.kyverno.io"},
		{name: "a field of policies", of: policiesWhole, old: "  images:", new: "  allowedImages:",
			want: "13 unknown-field spec.allowedImages", hint: "write images"},
		{name: "exclude", of: legacyWhole, old: "  match:", new: "  exclude: {any: []}\n  match:",
			want: "14 unknown-field spec.exclude", hint: "leave these resources out of the match"},
		{name: "status", of: policiesWhole, old: "kind: PolicyException", new: "kind: PolicyException\nstatus: {}",
			want: "3 unknown-field status"},
		{name: "text that is a number", of: legacyWhole, old: "migration", new: "12",
			want: `8 wrong-type metadata.annotations["polex.dev/reason"]`, hint: "put it in quotes"},
		{name: "a text for a list", of: legacyWhole, old: "[check, autogen-check]", new: "check",
			want: "13 wrong-type spec.exceptions[0].ruleNames", hint: "write it as a list: [check]"},
		{name: "a mapping for a list", of: legacyWhole, old: "    - resources:", new: "      resources:",
			want: "15 wrong-type spec.match.any"},
		{name: "text for a boolean", of: legacyWhole, old: "background: false", new: `background: "false"`,
			want: "10 wrong-type spec.background"},
		{name: "null field", of: legacyWhole, old: "background: false", new: "background:",
			want: "10 null-value spec.background"},
		{name: "null in a list", of: legacyWhole, old: "[check, autogen-check]", new: "[check, null]",
			want: "13 null-value spec.exceptions[0].ruleNames[1]"},
		{name: "null deep in free JSON", of: legacyWhole, old: "{deep: [true]}", new: "{deep: [null]}"},
		{name: "null instead of free JSON", of: legacyWhole, old: "value: [1, 2.5, {deep: [true]}]", new: "value: ~",
			want: "32 null-value spec.conditions.any[0].value"},
		{name: "integer with a fraction", of: legacyWhole, old: "2.5", new: "2.0",
			want: "32 invalid-value spec.conditions.any[0].value[1]"},
		{name: "unknown operator", of: legacyWhole, old: "operator: GreaterThan", new: "operator: GreaterTan",
			want: "31 invalid-value spec.conditions.any[0].operator", hint: `did you mean "GreaterThan"?`},
		{name: "unknown report result", of: policiesWhole, old: "reportResult: pass", new: "reportResult: fail",
			want: "15 invalid-value spec.reportResult"},
		{name: "any and all", of: legacyWhole, old: "  match:", new: "  match:\n    all: []",
			want: "14 invalid-value spec.match"},
		{name: "name and names", of: legacyWhole, old: "        names: [web]", new: "        names: [web]\n        name: web",
			want: "16 invalid-value spec.match.any[0].resources"},
		{name: "no match", of: legacyWhole, old: "  match:", new: "  mtch:",
			want: "9 missing-field spec.match; 14 unknown-field spec.mtch", hint: `did you mean "match"?`},
		{name: "bad time", of: policiesWhole, old: "2026-12-31T17:00:00+01:00", new: "2026-12-31",
			want: "16 invalid-value spec.expiresAt"},
		{name: "empty policy name", of: policiesWhole, old: "name: require-probes", new: `name: ""`,
			want: "8 empty-value spec.policyRefs[0].name"},
		{name: "no name", of: policiesWhole, old: "  name: cel\n", new: "", want: "3 missing-field metadata.name"},
		{name: "no namespace", of: policiesWhole, old: "  namespace: team-a\n", new: "",
			want: "3 missing-field metadata.namespace"},
		{name: "empty name", of: policiesWhole, old: "name: cel", new: `name: ""`, want: "4 empty-value metadata.name"},
		{name: "name in capitals", of: policiesWhole, old: "name: cel", new: "name: Cel",
			want: "4 invalid-value metadata.name"},
		{name: "long name", of: policiesWhole, old: "name: cel", new: "name: " + strings.Repeat("a", 254),
			want: "4 invalid-value metadata.name"},
		{name: "namespace with a dot", of: policiesWhole, old: "namespace: team-a", new: "namespace: team.a",
			want: "5 invalid-value metadata.namespace"},
		{name: "generated name", of: policiesWhole, old: "  name: cel", new: "  generateName: cel-",
			want: "3 missing-field metadata.name; 4 unsignable-field metadata.generateName"},
		{name: "finalizers", of: policiesWhole, old: "  name: cel", new: "  name: cel\n  finalizers: [x/y]",
			want: "5 unsignable-field metadata.finalizers", hint: "remove it"},
		{name: "what kubectl prints", of: policiesWhole, old: "  name: cel", new: "  name: cel\n  creationTimestamp: null",
			want: "5 unsignable-field metadata.creationTimestamp"},
		{name: "misspelt metadata", of: policiesWhole, old: "  namespace: team-a", new: "  namespace: team-a\n  label: {a: b}",
			want: "6 unknown-field metadata.label", hint: `did you mean "labels"?`},
		{name: "empty labels", of: legacyWhole, old: `{app.kubernetes.io/name: web, empty: ""}`, new: "{}",
			want: "6 empty-value metadata.labels"},
		{name: "null labels", of: legacyWhole, old: `{app.kubernetes.io/name: web, empty: ""}`, new: "",
			want: "6 null-value metadata.labels"},
		{name: "label that is a boolean", of: legacyWhole, old: "name: web,", new: "name: true,",
			want: `6 wrong-type metadata.labels["app.kubernetes.io/name"]`},
		{name: "label's value with a space", of: legacyWhole, old: "name: web,", new: `name: "a b",`,
			want: `6 invalid-value metadata.labels["app.kubernetes.io/name"]`},
		{name: "label's key", of: legacyWhole, old: "empty:", new: "a/b/c:",
			want: `6 invalid-value metadata.labels["a/b/c"]`},
		{name: "annotation's key", of: legacyWhole, old: "polex.dev/reason:", new: "polex.dev/:",
			want: `8 invalid-value metadata.annotations["polex.dev/"]`},
		{name: "annotations that are too large", want: "3 invalid-value metadata.annotations",
			of: "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: a, namespace: b, annotations: {a: x" + strings.Repeat("x", 256<<10) + "}}\n" +
				"spec: {exceptions: [{policyName: p, ruleNames: [r]}], match: {any: [{resources: {kinds: [Pod]}}]}}\n"},
		{name: "metadata is text", of: "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: x\nspec: 1\n",
			want: "3 wrong-type metadata; 4 wrong-type spec"},
		{name: "empty keys", of: legacyWhole, old: "  background: false", new: "  \"\": false",
			want: `10 unknown-field spec[""]`},
		{name: "nothing in it", of: "apiVersion: policies.kyverno.io/v1\nkind: PolicyException\n",
			want: "1 missing-field metadata; 1 missing-field spec"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			must.That(t, tc.old == "" || strings.Contains(tc.of, tc.old), "there is no %q to replace", tc.old)
			d := mustParse(t, strings.Replace(tc.of, tc.old, tc.new, 1))
			var got, hints []string
			problems := schema.Check(d)
			for _, p := range problems {
				got = append(got, fmt.Sprintf("%d %s %s", d.PositionOf(p.Path).Line, p.Reason, p.Path))
				hints = append(hints, p.Hint)
				expect.That(t, p.Message != "", "%s has no message", p.Reason)
			}
			expect.Equal(t, fmt.Sprint(problems), tc.want, strings.Join(got, "; "))
			expect.That(t, tc.hint == "" || strings.Contains(strings.Join(hints, "\n"), tc.hint),
				"hints %q, want %q", hints, tc.hint)
		})
	}
}

func TestCheckIsBounded(t *testing.T) {
	source := policiesWhole + "  images: [" + strings.Repeat("1,", 5000) + "1]\n"
	d := mustParse(t, strings.Replace(source, "  images: [registry.example/web:1]\n", "", 1))
	expect.Is(t, "problems", schema.MaxProblems, len(schema.Check(d)))
}

func TestDefaults(t *testing.T) {
	for _, tc := range []struct {
		name, source string
		want         []exception.Addition
	}{
		{"kyverno.io has none", legacyWhole, nil},
		{"said already", policiesWhole, nil},
		{"null is no absence", strings.Replace(policiesWhole, "reportResult: pass", "reportResult:", 1), nil},
		{"no spec to write it to", "apiVersion: policies.kyverno.io/v1\nkind: PolicyException\n", nil},
		{"unknown version", strings.NewReplacer("io/v1", "io/v9", "  reportResult: pass\n", "").Replace(policiesWhole), nil},
		{"not said", strings.Replace(policiesWhole, "  reportResult: pass\n", "", 1),
			[]exception.Addition{{Path: exception.Path{"spec", "reportResult"}, Value: "skip"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := mustParse(t, tc.source)
			got := schema.Defaults(d)
			expect.Equal(t, "additions", tc.want, got)
			if got == nil {
				return
			}
			whole := must.Get(d.Add(got...))(t)
			expect.Is(t, "still to add", 0, len(schema.Defaults(whole)))
			expect.Is(t, "problems", 0, len(schema.Check(whole)))
		})
	}
}
