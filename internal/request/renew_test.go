package request_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/polex-dev/polex/internal/promotion/renewal"
	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/documents"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// sealed returns a document with signature annotations for its content. The signature is invalid,
// because these tests do not check the signer.
func sealed(t *testing.T, text string) (doc *exception.Document, digest string) {
	t.Helper()
	plain := documents.All(t, text)[0]
	message := must.Get(seal.Message(plain))(t)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(message)
	_ = w.Close()
	object := plain.Object()
	annotations := object["metadata"].(map[string]any)["annotations"].(map[string]any)
	annotations["cosign.sigstore.dev/message"] = base64.StdEncoding.EncodeToString(packed.Bytes())
	annotations["cosign.sigstore.dev/signature"] = base64.StdEncoding.EncodeToString([]byte("by nobody"))
	doc = must.Get(exception.FromObject(object))(t)
	sum := sha256.Sum256(message)
	return doc, "sha256:" + hex.EncodeToString(sum[:])
}

const signedOld = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: web-probes-1a2b3c4d5e
  namespace: team-a
  labels: {team: a, cleanup.kyverno.io/ttl: 2026-06-01T120000Z}
  annotations:
    polex.dev/reason: the vendor has no probe
    polex.dev/ticket: SEC-12
    polex.dev/owner: team-a
    polex.dev/expires-in: 7d
    polex.dev/expires-at: "2026-06-01T12:00:00Z"
    polex.dev/starts-at: "2026-05-01T12:00:00Z"
    polex.dev/approved-by: jane
    polex.dev/pull-request: "#1"
    polex.dev/requested-by: jim
    polex.dev/merge-commit: abc
    polex.dev/recorded-from: api
spec:
  exceptions: [{policyName: probes, ruleNames: [check]}]
  match: {any: [{resources: {kinds: [v1/Pod], names: [web], namespaces: [team-a]}}]}
`

// renewed is a renewal without a problem.
func renewed(t *testing.T, old *exception.Document, statements request.Statements) *request.Draft {
	t.Helper()
	draft, problem := request.Renew(old, statements, &shape.Config{})
	must.That(t, problem == nil, "%v", problem)
	return draft
}

func TestRenew(t *testing.T) {
	old, digest := sealed(t, signedOld)
	draft := renewed(t, old, request.Statements{ExpiresIn: "3d", Ticket: "SEC-13"})
	want := `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: web-probes-1a2b3c4d5e-r1
  namespace: team-a
  labels:
    team: a
  annotations:
    polex.dev/expires-in: "3d"
    polex.dev/owner: team-a
    polex.dev/reason: "the vendor has no probe"
    polex.dev/renewal: "1"
    polex.dev/renews: "web-probes-1a2b3c4d5e@` + digest + `"
    polex.dev/ticket: SEC-13
spec:
  exceptions:
  - policyName: probes
    ruleNames: [check]
  match:
    any:
    - resources:
        kinds: [v1/Pod]
        names: [web]
        namespaces: [team-a]
`
	expect.Equal(t, "result", want, string(draft.Source))
	strict(t, *draft, nil)

	// The next renewal has the next number.
	next, digest := sealed(t, string(draft.Source))
	again := renewed(t, next, request.Statements{ExpiresIn: "1d"})
	exc, _ := again.Document.Exception()
	if exc.Identity.Name != "web-probes-1a2b3c4d5e-r2" || exc.RenewalNumber.Text != "2" || exc.Renews.Text != "web-probes-1a2b3c4d5e-r1@"+digest {
		t.Errorf("%+v", exc)
	}
}

func TestRenewNew(t *testing.T) {
	old, digest := sealed(t, `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: web, namespace: team-a, labels: {cleanup.kyverno.io/ttl: 2026-06-01T120000Z, app.kubernetes.io/instance: platform},
  annotations: {polex.dev/owner: team-a, argocd.argoproj.io/sync-options: Prune=false}}
spec:
  policyRefs: [{name: readiness, kind: ValidatingPolicy}]
  matchConditions: [{name: only, expression: "object.metadata.name == 'web'"}]
  expiresAt: "2026-06-01T12:00:00Z"
  properties: {reason: none, approved-by: jane}
`)
	draft := renewed(t, old, request.Statements{ExpiresIn: "3d", Reason: "still none"})
	want := `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata:
  name: web-r1
  namespace: team-a
  annotations:
    polex.dev/expires-in: "3d"
    polex.dev/owner: team-a
    polex.dev/renewal: "1"
    polex.dev/renews: "web@` + digest + `"
spec:
  policyRefs:
  - kind: ValidatingPolicy
    name: readiness
  matchConditions:
  - name: only
    expression: "object.metadata.name == 'web'"
  properties:
    reason: "still none"
`
	expect.Equal(t, "result", want, string(draft.Source))
	expect.Contains(t, strings.Join(draft.Notes, "\n"), `argocd.argoproj.io/sync-options: "Prune=false" is removed`)
}

func TestNotRenewable(t *testing.T) {
	good, _ := sealed(t, signedOld)
	edited := func(change func(metadata, annotations map[string]any)) *exception.Document {
		object := good.Object()
		metadata := object["metadata"].(map[string]any)
		change(metadata, metadata["annotations"].(map[string]any))
		return must.Get(exception.FromObject(object))(t)
	}
	odd := func(renewal string) *exception.Document {
		doc, _ := sealed(t, strings.Replace(signedOld, "  annotations:\n", "  annotations:\n    polex.dev/renews: web@sha256:"+strings.Repeat("0", 64)+"\n    polex.dev/renewal: "+renewal+"\n", 1))
		return doc
	}
	other, _ := sealed(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: team-a, annotations: {a: b}}\n")
	for name, doc := range map[string]*exception.Document{
		"never signed":           documents.All(t, signedOld)[0],
		"changed since":          edited(func(metadata, _ map[string]any) { metadata["name"] = "api" }),
		"a longer life":          edited(func(_, a map[string]any) { a["polex.dev/expires-at"] = "2027-01-01T00:00:00Z" }),
		"no message":             edited(func(_, a map[string]any) { delete(a, "cosign.sigstore.dev/message") }),
		"a message of nothing":   edited(func(_, a map[string]any) { a["cosign.sigstore.dev/message"] = "" }),
		"another kind":           other,
		"a number that is none":  odd("first"),
		"none at all":            odd(`"0"`),
		"a number with a sign":   odd(`"+1"`),
		"a number without bound": odd(`"999"`),
		"as often as can be":     odd(`"998"`),
	} {
		draft, err := request.Renew(doc, request.Statements{ExpiresIn: "1d"}, &shape.Config{})
		expect.That(t, err != nil && err.Message != "", "%s: %v, %v", name, draft, err)
	}
}

func TestContinues(t *testing.T) {
	old, _ := sealed(t, signedOld)
	draft := renewed(t, old, request.Statements{ExpiresIn: "3d", Reason: "still none"})
	err := renewal.Continues(draft.Document, old)
	expect.That(t, err == nil, "the draft: %v", err)
	other, _ := sealed(t, strings.Replace(signedOld, "the vendor has no probe", "another", 1))
	expect.That(t, renewal.Continues(draft.Document, other) != nil, "it renews another message of the same name")
	expect.That(t, renewal.Continues(draft.Document, documents.All(t, signedOld)[0]) != nil, "it renews what was never signed")
	text := string(draft.Source)
	for name, change := range map[string][2]string{
		"skips one":           {`renewal: "1"`, `renewal: "2"`},
		"counts from nothing": {"    polex.dev/renewal: \"1\"\n", ""},
		"says nothing":        {"polex.dev/renews:", "polex.dev/renewed:"},
		"exempts more":        {"names: [web]", "names: [web, api]"},
		"exempts from more":   {"ruleNames: [check]", "ruleNames: [check, tag]"},
		"lives elsewhere":     {"namespace: team-a\n", "namespace: team-b\n"},
		"another digest":      {"@sha256:", "@sha256:0"},
		"another name":        {"web-probes-1a2b3c4d5e@", "web@"},
	} {
		changed := strings.Replace(text, change[0], change[1], 1)
		must.That(t, changed != text, "%s: nothing to change", name)
		expect.That(t, renewal.Continues(documents.All(t, changed)[0], old) != nil, "%s: it passes", name)
	}
}

// line returns a violation as text.
func line(v request.Violation) string {
	text := fmt.Sprintf("%s %s %s: %s %s", v.PolicyKind, v.Policy, v.Rule, v.Resource.APIVersion, v.Resource)
	for _, c := range v.Controls {
		text += fmt.Sprintf(", %s %v", c.Name, c.Images)
	}
	return text
}

func linesOf(violations []request.Violation) []string {
	var all []string
	for _, v := range violations {
		all = append(all, line(v))
	}
	return all
}

const result = `{policy: probes, rule: check, result: fail, source: kyverno, message: m%s}`

func TestFromReport(t *testing.T) {
	report := func(apiVersion, kind, rest string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: a}\n" + rest
	}
	const scope = "scope: {apiVersion: v1, kind: Pod, namespace: team-a, name: web}\n"
	one := "results: [" + fmt.Sprintf(result, "") + "]\n"
	for _, tc := range []struct {
		name, text string
		want       []string
		passed     int
		foreign    int
		problem    string
	}{
		{name: "by scope", text: report("wgpolicyk8s.io/v1alpha2", "PolicyReport", scope+one), want: []string{"ClusterPolicy probes check: v1 Pod team-a/web"}},
		{name: "by resources", text: report("openreports.io/v1alpha1", "ClusterReport", "results: ["+fmt.Sprintf(result, ", resources: [{apiVersion: v1, kind: Pod, namespace: team-a, name: a}, {apiVersion: v1, kind: Pod, namespace: team-a, name: b}]")+"]\n"),
			want: []string{"ClusterPolicy probes check: v1 Pod team-a/a", "ClusterPolicy probes check: v1 Pod team-a/b"}},
		{name: "a list", text: "apiVersion: v1\nkind: List\nitems: [{apiVersion: openreports.io/v1alpha1, kind: Report, " + strings.TrimSpace(strings.ReplaceAll(scope+one, "\n", ", ")) + "}]\n", want: []string{"ClusterPolicy probes check: v1 Pod team-a/web"}},
		{name: "what counts", text: report("wgpolicyk8s.io/v1alpha2", "PolicyReport", scope+`results:
- {policy: team-a/p, rule: r, result: fail, source: kyverno}
- {policy: v, rule: v, result: fail, source: KyvernoValidatingPolicy}
- {policy: team-a/v, result: warn, source: KyvernoImageValidatingPolicy}
- {policy: p, rule: r, result: pass, source: kyverno}
- {policy: p, rule: r, result: skip, source: kyverno}
- {policy: p, rule: r, result: error, source: kyverno}
- {policy: p, rule: r, result: fail, source: trivy}
- {policy: p, rule: r, result: fail}
- 7
`), want: []string{"Policy team-a/p r: v1 Pod team-a/web", "ValidatingPolicy v : v1 Pod team-a/web", "NamespacedImageValidatingPolicy team-a/v : v1 Pod team-a/web"}, passed: 4, foreign: 2},
		{name: "controls", text: report("wgpolicyk8s.io/v1alpha2", "PolicyReport", scope+"results: ["+fmt.Sprintf(result, `, properties: {controlsJSON: '[{"ID":"privileged","Name":"Privileged Containers","Images":["registry.example/a:1"]},{"Name":"*"}]'}`)+"]\n"),
			want: []string{"ClusterPolicy probes check: v1 Pod team-a/web, Privileged Containers [registry.example/a:1]"}},
		{name: "nothing", text: report("wgpolicyk8s.io/v1alpha2", "PolicyReport", scope)},
		{name: "a resource of nobody", text: report("wgpolicyk8s.io/v1alpha2", "PolicyReport", one), want: []string{"ClusterPolicy probes check:   "}},
		{name: "another kind", text: "apiVersion: v1\nkind: Pod\n", problem: "not-a-report"},
		{name: "the group of another", text: report("reports.example/v1", "PolicyReport", scope+one), problem: "not-a-report"},
		{name: "a list with another kind", text: "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod}]\n", problem: "not-a-report"},
		{name: "too many", text: report("wgpolicyk8s.io/v1alpha2", "PolicyReport", scope+"results:\n"+strings.Repeat("- {policy: p, rule: r, result: fail, source: kyverno}\n", request.MaxViolations+1)), problem: "too-many"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			read, problem := request.FromReport(documents.All(t, tc.text)[0])
			if problem != nil {
				expect.That(t, problem.Reason == tc.problem, "%+v", problem)
				return
			}
			must.That(t, tc.problem == "", "read %d violations, and it is %s", len(read.Violations), tc.problem)
			if diff := cmp.Diff(tc.want, linesOf(read.Violations)); diff != "" || read.Passed != tc.passed || read.Foreign != tc.foreign {
				t.Errorf("%d passed, %d foreign (-want +got):\n%s", read.Passed, read.Foreign, diff)
			}
		})
	}
}

// applied is an output of Kyverno 1.19.1.
const applied = `
Applying 3 policy rule(s) to 2 resource(s)...
policy probes -> resource team-a/Deployment/web failed:
1 - autogen-check validation error: probes are required. rule autogen-check failed at path /spec/
2 - autogen-tag validation error: no latest
policy readiness -> resource team-a/Pod/web failed:
1 -  readiness probes
policy roles -> resource ClusterRole/reader failed:
1 - check m

pass: 1, fail: 4, warn: 0, error: 0, skip: 0
1 - check not any more
`

func TestFromApply(t *testing.T) {
	got, problem := request.FromApply(applied, "applied.txt")
	must.That(t, problem == nil, "%v", problem)
	want := []string{" probes autogen-check:  Deployment team-a/web", " probes autogen-tag:  Deployment team-a/web", " readiness :  Pod team-a/web", " roles check:  ClusterRole reader"}
	expect.Equal(t, "result", want, linesOf(got))
	expect.Is(t, "second position", (exception.Position{File: "applied.txt", Line: 5, Column: 1}), got[1].Position)
	if got, problem := request.FromApply("policy a -> resource b/Pod/c failed:\n2 - r out of turn\nnothing\n", ""); len(got) > 0 || problem != nil {
		t.Errorf("%v, %v", got, problem)
	}
	var many strings.Builder
	for range request.MaxViolations + 1 {
		many.WriteString("policy a -> resource b/Pod/c failed:\n1 - r m\n")
	}
	if _, problem := request.FromApply(many.String(), ""); problem == nil || problem.Reason != "too-many" {
		t.Errorf("too many: %v", problem)
	}
}

// TestFromDenial has the forms that testdata/denials.txtar lacks.
func TestFromDenial(t *testing.T) {
	about := request.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "team-a", Name: "web"}
	for _, tc := range []struct {
		name, text string
		want       []string
		problem    string
	}{
		{name: "another resource than that of the manifest", text: "resource Pod/team-a/web was blocked due to the following policies \n\nprobes:\n  check: m\n", want: []string{" probes check:  Pod team-a/web"}},
		{name: "on one line, from Flux", text: `Deployment/team-a/web dry-run failed (Forbidden): admission webhook "validate.kyverno.svc-fail" denied the request: resource Deployment/team-a/web was blocked due to the following policies probes: autogen-check: 'validation error: it''s: required. rule autogen-check failed at path /spec/' autogen-tag: no latest standards: autogen-baseline: "a \"b\": c" and more`,
			want: []string{" probes autogen-check: apps/v1 Deployment team-a/web", " probes autogen-tag: apps/v1 Deployment team-a/web", " standards autogen-baseline: apps/v1 Deployment team-a/web"}},
		{name: "in JSON, on one line", text: `{"message": "admission webhook \"validate.kyverno.svc-fail\" denied the request: resource Pod/team-a/web was blocked due to the following policies probes: check: \"say \\\"x\\\": y\""}`, want: []string{" probes check:  Pod team-a/web"}},
		{name: "escaped to the end", text: `resource Pod/team-a/web was blocked due to the following policies \n\nprobes:\n  check: m\n`, want: []string{" probes check:  Pod team-a/web"}},
		{name: "policies", text: "resource Pod/team-a/web was blocked due to the following policies:\n\npolicies:\n  probes:\n    check: m\n", want: []string{" probes check:  Pod team-a/web"}},
		{name: "policies on one line", text: "resource Pod/team-a/web was blocked due to the following policies policies: probes: check: 'm: n'", want: []string{" probes check:  Pod team-a/web"}},
		{name: "a policy of that name", text: "resource Pod/team-a/web was blocked due to the following policies\n\npolicies:\n  check: m\n", want: []string{" policies check:  Pod team-a/web"}},
		{name: "two lines", text: "resource Pod/team-a/a was blocked due to the following policies probes: check: m\nresource Pod/team-a/b was blocked due to the following policies probes: tag: m\n",
			want: []string{" probes check:  Pod team-a/a", " probes tag:  Pod team-a/b"}},
		{name: "a message of several lines on one", text: "resource Pod/team-a/web was blocked due to the following policies probes: check: |- one: two other: three", problem: "not-a-report"},
		{name: "policies.kyverno.io, from Flux about the manifest", text: `Deployment/team-a/web dry-run failed (Forbidden): denied the request: Policy readiness failed: m; ClusterRole/x dry-run failed: Policy roles failed: m`, want: []string{" readiness : apps/v1 Deployment team-a/web", " roles :  ClusterRole x"}},
		{name: "somebody else", text: `Error from server (Forbidden): pods is forbidden`},
		{name: "not what it is", text: "resource Pod/team-a/web was blocked due to the following policies \n\nprobes: [check]\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, problem := request.FromDenial(tc.text, "denial.txt", about)
			if problem != nil {
				expect.That(t, problem.Reason == tc.problem, "%v", problem)
				return
			}
			diff := cmp.Diff(tc.want, linesOf(got))
			expect.That(t, diff == "" && tc.problem == "", "%s (-want +got):\n%s", tc.problem, diff)
		})
	}
}

// TestDenials: testdata/denials.txtar has denials in the forms in which tools and logs repeat them.
// Each begins with its flags and the expected drafts and refusals, and none gives anything else.
func TestDenials(t *testing.T) {
	archive := must.Get(txtar.ParseFile("testdata/denials.txtar"))(t)
	must.That(t, len(archive.Files) >= 40, "there are %d texts", len(archive.Files))
	for _, file := range archive.Files {
		t.Run(file.Name, func(t *testing.T) {
			flags, want, text := "", []string(nil), string(file.Data)
			for strings.HasPrefix(text, "# ") {
				var line string
				line, text, _ = strings.Cut(text, "\n")
				if of, isFlags := strings.CutPrefix(line, "# flags: "); isFlags {
					flags = of
					continue
				}
				want = append(want, strings.TrimPrefix(line, "# "))
			}
			text = strings.NewReplacer("<ESC>", "\x1b", "<CR>", "\r").Replace(text)
			var got []string
			for _, line := range outcomes(t, text, flags) {
				if !slices.Contains(got, line) {
					got = append(got, line)
				}
			}
			if got == nil {
				got = []string{"nothing"}
			}
			expect.Equal(t, "result", want, got)
		})
	}
}

// outcomes drafts exceptions for a denial, and describes the drafts and the refusals.
func outcomes(t *testing.T, text, flags string) []string {
	t.Helper()
	o := request.Options{Statements: said, Namespace: "exceptions"}
	if strings.Contains(flags, "--policies") {
		o.Policies = shape.ReadPolicies(documents.All(t, policies))
	}
	var about request.Resource
	if _, resource, given := strings.Cut(flags, "--resources "); given {
		part := strings.Split(resource, "/")
		o.Objects = documents.All(t, fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: %s}\n", strings.ReplaceAll(part[0], "_", "/"), part[1], part[3], part[2]))
		about = request.Resource{APIVersion: strings.ReplaceAll(part[0], "_", "/"), Kind: part[1], Namespace: part[2], Name: part[3]}
	}
	refused := func(p request.Problem) string {
		var named []string
		for _, flag := range []string{"--from", "--policies", "--resources", "--policy", "--rule", "--about"} {
			if slices.ContainsFunc(strings.FieldsFunc(p.Hint, func(r rune) bool { return r == ' ' || r == ',' }), func(word string) bool { return word == flag }) {
				named = append(named, flag)
			}
		}
		return strings.TrimSpace("refused " + p.Reason + " " + strings.Join(named, " "))
	}
	violations, problem := request.FromDenial(text, "denial.txt", about)
	if problem != nil {
		return []string{refused(*problem)}
	}
	drafts, problems, err := request.New(violations, o)
	must.Do(t, err)
	var got []string
	for _, d := range drafts {
		strict(t, d, o.Policies)
		exempt := strings.Join(drafted(t, d), "; ")
		for _, v := range d.Answers {
			if !strings.Contains(exempt, v.Policy[strings.LastIndex(v.Policy, "/")+1:]) || !strings.Contains(exempt, v.Rule) {
				t.Errorf("%s does not exempt from %s of %s", exempt, v.Rule, v.Policy)
			}
			got = append(got, strings.Join(strings.Fields(fmt.Sprintf("draft %s %s %s", v.Policy, v.Rule, v.Resource)), " "))
		}
	}
	for _, p := range problems {
		got = append(got, refused(p))
	}
	return got
}
