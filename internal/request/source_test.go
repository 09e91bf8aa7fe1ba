package request_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

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
			read, problem := request.FromReport(parse(t, tc.text)[0])
			if problem != nil {
				expect.That(t, problem.Reason == tc.problem, "%+v", problem)
				return
			}
			if tc.problem != "" {
				t.Fatalf("read %d violations, and it is %s", len(read.Violations), tc.problem)
			}
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

func TestFromDenial(t *testing.T) {
	about := request.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "team-a", Name: "web"}
	for _, tc := range []struct {
		name, text string
		want       []string
		problem    string
	}{
		{name: "kyverno.io", text: `Error from server: error when creating "pod.yaml": admission webhook "validate.kyverno.svc-fail" denied the request:

resource Deployment/team-a/web was blocked due to the following policies

probes:
  autogen-check: 'validation error: probes are required. rule autogen-check failed at
    path /spec/'
  autogen-tag: m
standards:
  autogen-baseline: m
`, want: []string{" probes autogen-check: apps/v1 Deployment team-a/web", " probes autogen-tag: apps/v1 Deployment team-a/web", " standards autogen-baseline: apps/v1 Deployment team-a/web"}},
		{name: "another resource than that of the manifest", text: "resource Pod/team-a/web was blocked due to the following policies \n\nprobes:\n  check: m\n", want: []string{" probes check:  Pod team-a/web"}},
		{name: "policies.kyverno.io", text: `Error from server: admission webhook "vpol.validate.kyverno.svc-fail" denied the request: Policy readiness failed: readiness probes; Policy hosts error: m`,
			want: []string{" readiness : apps/v1 Deployment team-a/web", " hosts : apps/v1 Deployment team-a/web"}},
		{name: "on one line, from Flux", text: `Deployment/team-a/web dry-run failed (Forbidden): admission webhook "validate.kyverno.svc-fail" denied the request: resource Deployment/team-a/web was blocked due to the following policies probes: autogen-check: 'validation error: it''s: required. rule autogen-check failed at path /spec/' autogen-tag: no latest standards: autogen-baseline: "a \"b\": c" and more`,
			want: []string{" probes autogen-check: apps/v1 Deployment team-a/web", " probes autogen-tag: apps/v1 Deployment team-a/web", " standards autogen-baseline: apps/v1 Deployment team-a/web"}},
		{name: "in JSON", text: `{"message": "Deployment/team-a/web dry-run failed (Forbidden): admission webhook \"validate.kyverno.svc-fail\" denied the request: \n\nresource Deployment/team-a/web was blocked due to the following policies \n\nprobes:\n  autogen-check: 'it is \"required\": see'\n  autogen-tag: m\n", "reason": "x: y"}`,
			want: []string{" probes autogen-check: apps/v1 Deployment team-a/web", " probes autogen-tag: apps/v1 Deployment team-a/web"}},
		{name: "in JSON, on one line", text: `{"message": "admission webhook \"validate.kyverno.svc-fail\" denied the request: resource Pod/team-a/web was blocked due to the following policies probes: check: \"say \\\"x\\\": y\""}`, want: []string{" probes check:  Pod team-a/web"}},
		{name: "in JSON in JSON", text: `"admission webhook \\\"validate.kyverno.svc-fail\\\" denied the request: \\n\\nresource Pod/team-a/web was blocked due to the following policies \\n\\nprobes:\\n  check: m\\n"`, want: []string{" probes check:  Pod team-a/web"}},
		{name: "escaped to the end", text: `resource Pod/team-a/web was blocked due to the following policies \n\nprobes:\n  check: m\n`, want: []string{" probes check:  Pod team-a/web"}},
		{name: "policies", text: "resource Pod/team-a/web was blocked due to the following policies:\n\npolicies:\n  probes:\n    check: m\n", want: []string{" probes check:  Pod team-a/web"}},
		{name: "policies on one line", text: "resource Pod/team-a/web was blocked due to the following policies policies: probes: check: 'm: n'", want: []string{" probes check:  Pod team-a/web"}},
		{name: "a policy of that name", text: "resource Pod/team-a/web was blocked due to the following policies\n\npolicies:\n  check: m\n", want: []string{" policies check:  Pod team-a/web"}},
		{name: "two resources", text: "Error: admission webhook \"a\" denied the request: \n\nresource Pod/team-a/a was blocked due to the following policies \n\nprobes:\n  check: m\n\nError: admission webhook \"a\" denied the request: \n\nresource Pod/team-a/b was blocked due to the following policies \n\nprobes:\n  tag: m\n",
			want: []string{" probes check:  Pod team-a/a", " probes tag:  Pod team-a/b"}},
		{name: "two lines", text: "resource Pod/team-a/a was blocked due to the following policies probes: check: m\nresource Pod/team-a/b was blocked due to the following policies probes: tag: m\n",
			want: []string{" probes check:  Pod team-a/a", " probes tag:  Pod team-a/b"}},
		{name: "two on one line", text: `denied the request: resource Pod/team-a/a was blocked due to the following policies probes: check: m, denied the request: resource Pod/team-a/b was blocked due to the following policies probes: tag: m`, problem: "not-a-report"},
		{name: "a message of several lines on one", text: "resource Pod/team-a/web was blocked due to the following policies probes: check: |- one: two other: three", problem: "not-a-report"},
		{name: "policies.kyverno.io, from Flux", text: `Pod/team-a/db dry-run failed (Forbidden): admission webhook "vpol.validate.kyverno.svc-fail" denied the request: Policy readiness failed: m`, want: []string{" readiness :  Pod team-a/db"}},
		{name: "policies.kyverno.io, from Flux about the manifest", text: `Deployment/team-a/web dry-run failed (Forbidden): denied the request: Policy readiness failed: m; ClusterRole/x dry-run failed: Policy roles failed: m`, want: []string{" readiness : apps/v1 Deployment team-a/web", " roles :  ClusterRole x"}},
		{name: "somebody else", text: `Error from server (Forbidden): pods is forbidden`},
		{name: "cut off", text: "resource Pod/team-a/web was blocked due to the following policies \n\nprobes:\n  check: 'm\n", problem: "not-a-report"},
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
		o.Policies = shape.ReadPolicies(parse(t, policies))
	}
	var about request.Resource
	if _, resource, given := strings.Cut(flags, "--resources "); given {
		part := strings.Split(resource, "/")
		o.Objects = parse(t, fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: %s}\n", strings.ReplaceAll(part[0], "_", "/"), part[1], part[3], part[2]))
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
