package request_test

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/cel"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/documents"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// said are the statements of all requests here.
var said = request.Statements{Reason: "the vendor has no probe", Ticket: "SEC-12", Owner: "team-a", ExpiresIn: "7d"}

var policies = strings.Join([]string{
	policy("ClusterPolicy", "{name: probes}", validates("check", "Pod")+validates("tag", "Pod")+validates("replicas", "Deployment")),
	policy("ClusterPolicy", "{name: pods-alone, annotations: {pod-policies.kyverno.io/autogen-controllers: none}}", validates("check", "Pod")),
	policy("ClusterPolicy", "{name: standards}", rule("baseline", "Pod", "validate: {podSecurity: {level: baseline}}")),
	policy("ClusterPolicy", "{name: images}", rule("verify", "Pod", `verifyImages: [{imageReferences: ["*"]}]`)),
	policy("Policy", "{name: labels, namespace: team-a}", validates("check", "Ingress, Namespace, ClusterRole")),
	policy("ClusterPolicy", "{name: shell}", rule("exec", "Pod/exec", "validate: {message: m, deny: {}}")),
	policy("ClusterPolicy", "{name: roles}", validates("check", "ClusterRole, Namespace")),
	matches("ValidatingPolicy", "{name: readiness}", "''", "pods"),
	matches("NamespacedValidatingPolicy", "{name: hosts, namespace: team-a}", "networking.k8s.io", "ingresses"),
}, "---\n")

func policy(kind, metadata, rules string) string {
	return "apiVersion: kyverno.io/v1\nkind: " + kind + "\nmetadata: " + metadata + "\nspec:\n  rules:\n" + rules
}

func rule(name, kinds, action string) string {
	return "  - name: " + name + "\n    match: {any: [{resources: {kinds: [" + kinds + "]}}]}\n    " + action + "\n"
}

func validates(name, kinds string) string {
	return rule(name, kinds, "validate: {message: m, pattern: {spec: {a: b}}}")
}

// matches is a policy for the creation of one resource.
func matches(kind, metadata, group, resource string) string {
	return "apiVersion: policies.kyverno.io/v1\nkind: " + kind + "\nmetadata: " + metadata + "\nspec:\n  matchConstraints: " +
		"{resourceRules: [{apiGroups: [" + group + "], apiVersions: [v1], operations: [CREATE], resources: [" + resource + "]}]}\n"
}

const manifests = `apiVersion: v1
kind: Pod
metadata:
  name: web-5d8f7c9b6d-x2x4z
  namespace: team-a
  labels: {pod-template-hash: 5d8f7c9b6d}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d8f7c9b6d, uid: a, controller: true}]
spec:
  containers: [{name: a, image: registry.example/a}, {name: b, image: nginx}]
---
apiVersion: v1
kind: Pod
metadata:
  name: evil
  namespace: team-a
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d8f7c9b6d, uid: a, controller: true}]
---
apiVersion: batch/v1
kind: Job
metadata:
  name: nightly-29000000
  namespace: team-a
  ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: nightly, uid: a, controller: true}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: front, namespace: team-a}
`

// of parses a violation from "policy rule Kind ns/name", with the groups of the kinds.
func of(policy, rule, kind, namespace, name string) request.Violation {
	apiVersion := map[string]string{"Pod": "v1", "Job": "batch/v1", "CronJob": "batch/v1", "Namespace": "v1", "Ingress": "networking.k8s.io/v1", "ClusterRole": "rbac.authorization.k8s.io/v1"}[kind]
	if apiVersion == "" {
		apiVersion = "apps/v1"
	}
	return request.Violation{Policy: policy, Rule: rule, Resource: request.Resource{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name}}
}

// drafted returns the exemption of a draft for a reader: rules, and kinds and names.
func drafted(t *testing.T, d request.Draft) []string {
	t.Helper()
	var lines []string
	spec, _ := d.Document.Lookup("spec")
	tree := spec.(map[string]any)
	if refs, isNew := tree["policyRefs"].([]any); isNew {
		ref := refs[0].(map[string]any)
		lines = append(lines, ref["kind"].(string)+" "+ref["name"].(string))
		condition := tree["matchConditions"].([]any)[0].(map[string]any)["expression"].(string)
		for part := range strings.FieldsFuncSeq(condition, func(r rune) bool { return r == '\n' }) {
			if strings.Contains(part, "object.kind ==") || strings.Contains(part, "object.metadata.namespace ==") {
				lines = append(lines, strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(part), " ||"), " &&"))
			}
		}
		return lines
	}
	for _, item := range tree["exceptions"].([]any) {
		entry := item.(map[string]any)
		lines = append(lines, entry["policyName"].(string)+": "+texts(entry["ruleNames"]))
	}
	for _, item := range tree["match"].(map[string]any)["any"].([]any) {
		resources := item.(map[string]any)["resources"].(map[string]any)
		lines = append(lines, texts(resources["kinds"])+" "+texts(resources["namespaces"])+": "+texts(resources["names"]))
	}
	controls, _ := tree["podSecurity"].([]any)
	for _, item := range controls {
		entry := item.(map[string]any)
		lines = append(lines, strings.TrimSpace(entry["controlName"].(string)+" "+texts(entry["images"])))
	}
	return lines
}

func texts(value any) string {
	var all []string
	items, _ := value.([]any)
	for _, item := range items {
		all = append(all, item.(string))
	}
	return strings.Join(all, " ")
}

const (
	hashed       = "web-?????????? web-????????? web-????????"
	hashedAndPod = "web-??????????-????? web-?????????-????? web-????????-?????"
)

func TestNew(t *testing.T) {
	known := shape.ReadPolicies(documents.All(t, policies))
	deployment := []string{"apps/v1/Deployment team-a: web", "apps/v1/ReplicaSet team-a: " + hashed, "v1/Pod team-a: " + hashedAndPod}
	whole := append([]string{"probes: autogen-check check"}, deployment...)
	for _, tc := range []struct {
		name       string
		violations []request.Violation
		unknown    bool // no policies are given
		manifests  bool
		want       [][]string
		problems   []string
	}{
		{name: "a Deployment", violations: []request.Violation{of("probes", "autogen-check", "Deployment", "team-a", "web")}, want: [][]string{whole}},
		{name: "a subresource", violations: []request.Violation{of("shell", "exec", "Pod", "team-a", "web")}, want: [][]string{{"shell: exec", "Pod/exec team-a: web"}}},
		{name: "a Deployment, policies unknown", unknown: true, violations: []request.Violation{of("probes", "autogen-check", "Deployment", "team-a", "web")}, want: [][]string{whole}},
		{name: "one cause", violations: []request.Violation{of("probes", "check", "Pod", "team-a", "web-5d8f7c9b6d-x2x4z"), of("probes", "autogen-check", "Deployment", "team-a", "web"), of("probes", "autogen-check", "ReplicaSet", "team-a", "web-5d8f7c9b6d")},
			want: [][]string{whole}},
		{name: "two rules", violations: []request.Violation{of("probes", "autogen-tag", "Deployment", "team-a", "web"), of("probes", "autogen-check", "Deployment", "team-a", "web")},
			want: [][]string{append([]string{"probes: autogen-check autogen-tag check tag"}, deployment...)}},
		{name: "a rule of its own and a rule for Pods", violations: []request.Violation{of("probes", "replicas", "Deployment", "team-a", "web"), of("probes", "autogen-check", "Deployment", "team-a", "web")},
			want: [][]string{whole, {"probes: replicas", "apps/v1/Deployment team-a: web"}}},
		{name: "two workloads", violations: []request.Violation{of("probes", "autogen-check", "DaemonSet", "team-a", "log"), of("probes", "autogen-check", "StatefulSet", "team-a", "db")},
			want: [][]string{{"probes: autogen-check check", "apps/v1/DaemonSet team-a: log", "v1/Pod team-a: log-?????"}, {"probes: autogen-check check", "apps/v1/StatefulSet team-a: db", "v1/Pod team-a: db-0 db-1 db-2 db-3 db-4 db-5 db-6 db-7 db-8 db-9"}}},
		{name: "a CronJob", violations: []request.Violation{of("probes", "autogen-cronjob-check", "CronJob", "team-a", "nightly")},
			want: [][]string{{"probes: autogen-check autogen-cronjob-check check", "batch/v1/CronJob team-a: nightly", "batch/v1/Job team-a: nightly-2??????? nightly-3???????", "v1/Pod team-a: nightly-2???????-????? nightly-3???????-?????"}}},
		{name: "a Job of a CronJob", manifests: true, violations: []request.Violation{of("probes", "autogen-check", "Job", "team-a", "nightly-29000000")},
			want: [][]string{{"probes: autogen-check autogen-cronjob-check check", "batch/v1/CronJob team-a: nightly", "batch/v1/Job team-a: nightly-2??????? nightly-3???????", "v1/Pod team-a: nightly-2???????-????? nightly-3???????-?????"}}},
		{name: "a Pod by its very name", violations: []request.Violation{of("probes", "check", "Pod", "team-a", "web-5d8f7c9b6d-x2x4z")}, want: [][]string{{"probes: check", "v1/Pod team-a: web-5d8f7c9b6d-x2x4z"}}},
		{name: "a Pod of a Deployment", manifests: true, violations: []request.Violation{of("probes", "check", "Pod", "team-a", "web-5d8f7c9b6d-x2x4z")}, want: [][]string{whole}},
		{name: "a Pod of a Deployment, policies unknown", unknown: true, manifests: true, violations: []request.Violation{of("probes", "check", "Pod", "team-a", "web-5d8f7c9b6d-x2x4z")},
			want: [][]string{{"probes: check", "v1/Pod team-a: " + hashedAndPod}}},
		{name: "a rule for Pods alone", manifests: true, violations: []request.Violation{of("pods-alone", "check", "Pod", "team-a", "web-5d8f7c9b6d-x2x4z")}, want: [][]string{{"pods-alone: check", "v1/Pod team-a: " + hashedAndPod}}},
		{name: "a Pod that lies about its owner", manifests: true, violations: []request.Violation{of("probes", "check", "Pod", "team-a", "evil")}, want: [][]string{{"probes: check", "v1/Pod team-a: evil"}}},
		{name: "a sibling's Pod is another cause", violations: []request.Violation{of("probes", "autogen-check", "Deployment", "team-a", "web"), of("probes", "check", "Pod", "team-a", "web-api-5d8f7c9b6d-x2x4z")},
			want: [][]string{whole, {"probes: check", "v1/Pod team-a: web-api-5d8f7c9b6d-x2x4z"}}},
		{name: "images are looked at before there is a name", violations: []request.Violation{of("images", "autogen-verify", "DaemonSet", "team-a", "log")},
			want: [][]string{{"images: autogen-verify verify", "apps/v1/DaemonSet team-a: log", "v1/Pod team-a: log-????? log-"}}},
		{name: "a long name is cut", violations: []request.Violation{of("probes", "autogen-check", "DaemonSet", "team-a", strings.Repeat("a", 60))},
			want: [][]string{{"probes: autogen-check check", "apps/v1/DaemonSet team-a: " + strings.Repeat("a", 60), "v1/Pod team-a: " + strings.Repeat("a", 58) + "?????"}}},
		{name: "any other kind", violations: []request.Violation{of("team-a/labels", "check", "Ingress", "team-a", "front")}, want: [][]string{{"team-a/labels: check", "networking.k8s.io/*/Ingress team-a: front"}}},
		{name: "a Policy whose namespace is not said", manifests: true, violations: []request.Violation{{Policy: "labels", Rule: "check", Resource: request.Resource{Kind: "Ingress", Namespace: "team-a", Name: "front"}}},
			want: [][]string{{"team-a/labels: check", "networking.k8s.io/*/Ingress team-a: front"}}},
		{name: "a group that nobody says", violations: []request.Violation{{Policy: "labels", Rule: "check", Resource: request.Resource{Kind: "IngressRoute", Namespace: "team-a", Name: "front"}}}, problems: []string{"manifest-needed"}},
		{name: "a group that only Kubernetes has", violations: []request.Violation{{Policy: "labels", Rule: "check", Resource: request.Resource{Kind: "Ingress", Namespace: "team-a", Name: "front"}}}, want: [][]string{{"team-a/labels: check", "networking.k8s.io/*/Ingress team-a: front"}}},
		{name: "a Policy of another namespace", violations: []request.Violation{of("labels", "check", "Ingress", "team-b", "front")}, problems: []string{"unknown-policy"}},
		{name: "no such policy", violations: []request.Violation{of("probe", "check", "Pod", "team-a", "a")}, problems: []string{"unknown-policy"}},
		{name: "no such rule", violations: []request.Violation{of("probes", "chek", "Pod", "team-a", "a")}, problems: []string{"unknown-rule"}},
		{name: "a rule that is made for another kind", violations: []request.Violation{of("probes", "autogen-cronjob-check", "Deployment", "team-a", "web")}, problems: []string{"unknown-rule"}},
		{name: "a part of an object", violations: []request.Violation{of("probes", "check", "Scale", "team-a", "web")}, problems: []string{"subresource"}},
		{name: "a Namespace", violations: []request.Violation{of("roles", "check", "Namespace", "", "team-a")}, problems: []string{"no-namespace"}},

		{name: "CEL", violations: []request.Violation{of("readiness", "", "Deployment", "team-a", "web")}, want: [][]string{{"ValidatingPolicy readiness", "has(object.metadata.namespace) && object.metadata.namespace == 'team-a'",
			"object.apiVersion == 'apps/v1' && object.kind == 'Deployment' && has(object.metadata.name) && object.metadata.name == 'web'",
			"object.apiVersion == 'apps/v1' && object.kind == 'ReplicaSet' && has(object.metadata.name) && object.metadata.name.matches('^web-[4-9bcdf]{8,10}$')",
			"object.apiVersion == 'v1' && object.kind == 'Pod' && has(object.metadata.name) && object.metadata.name.matches('^web-[4-9bcdf]{8,10}-([bcdfghjklmnpqrstvwxz2456789]{5})?$')"}}},
		{name: "CEL of a namespace", violations: []request.Violation{of("team-a/hosts", "", "Ingress", "team-a", "front")}, want: [][]string{{"NamespacedValidatingPolicy hosts", "has(object.metadata.namespace) && object.metadata.namespace == 'team-a'",
			"object.apiVersion.startsWith('networking.k8s.io/') && object.kind == 'Ingress' && has(object.metadata.name) && object.metadata.name == 'front'"}}},
		{name: "CEL, policies unknown", unknown: true, violations: []request.Violation{of("readiness", "", "Deployment", "team-a", "web")}, problems: []string{"policy-needed"}},

		{name: "hostile names", violations: []request.Violation{
			of("probes", "check", "Pod", "team-a", "web-*"), of("probes", "check", "Pod", "team-?", "web"), of("*", "check", "Pod", "team-a", "web"), of("probes", "*", "Pod", "team-a", "web"), of("probes", "check", "P*", "team-a", "web"),
			of("probes", "check", "Pod", "team-a", "a' || true || '"), of("probes", "check", "Pod", "team-a", "a\nb"), of("probes", "check", "Pod", "../..", "a"), of("../probes", "check", "Pod", "team-a", "a"), of("probes", "", "Pod", "team-a", ""),
			{Policy: "probes", Rule: "check", Resource: request.Resource{APIVersion: "*/*", Kind: "Pod", Namespace: "team-a", Name: "a"}},
		}, problems: slices.Repeat([]string{"bad-name"}, 11)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := request.Options{Policies: known, Statements: said}
			if tc.unknown {
				o.Policies = nil
			}
			if tc.manifests {
				o.Objects = documents.All(t, manifests)
			}
			drafts, problems, err := request.New(tc.violations, o)
			must.Do(t, err)
			var got [][]string
			for _, d := range drafts {
				got = append(got, drafted(t, d))
				strict(t, d, o.Policies)
			}
			expect.Equal(t, "result", tc.want, got)
			var reasons []string
			for _, p := range problems {
				reasons = append(reasons, p.Reason)
				expect.That(t, p.Message != "" && p.Hint != "", "%s says %q, %q", p.Reason, p.Message, p.Hint)
			}
			expect.Equal(t, "result", tc.problems, reasons)
			slices.Reverse(tc.violations)
			again, _, err := request.New(tc.violations, o)
			must.That(t, err == nil && len(again) == len(drafts), "the other way round: %d drafts, %v", len(again), err)
			for i := range again {
				expect.That(t, bytes.Equal(again[i].Source, drafts[i].Source),
					"the other way round:\n%s\n%s", again[i].Source, drafts[i].Source)
			}
		})
	}
}

// only returns the one draft for violations.
func only(t *testing.T, o request.Options, violations ...request.Violation) request.Draft {
	t.Helper()
	drafts, problems, err := request.New(violations, o)
	must.That(t, err == nil && len(drafts) == 1, "%d drafts, %v, %v", len(drafts), problems, err)
	return drafts[0]
}

// strict checks a draft with the strictest settings.
func strict(t *testing.T, d request.Draft, known *shape.PolicySet) {
	t.Helper()
	checker := must.Get(shape.New(shape.Config{Preset: "strict", Policies: known}))(t)
	for _, f := range checker.Check(d.Document, now) {
		expect.That(t, f.Severity != shape.Error && f.Reason != shape.ReasonAutogenRules,
			"%s: %s\n%s", f.Reason, f.Message, d.Source)
	}
}

var label = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// TestNames: a name depends only on the exemption, not on the requester and the statements.
func TestNames(t *testing.T) {
	known := shape.ReadPolicies(documents.All(t, policies))
	name := func(v request.Violation, s request.Statements) string {
		t.Helper()
		draft := only(t, request.Options{Policies: known, Statements: s, Namespace: "exceptions"}, v)
		strict(t, draft, known)
		id := draft.Document.Identity()
		expect.That(t, label.MatchString(id.Name) && id.Namespace == "exceptions", "%s is no plain name in exceptions", id)
		return id.Name
	}
	first := name(of("probes", "autogen-check", "Deployment", "team-a", "web"), said)
	expect.That(t, strings.HasPrefix(first, "web-probes-"), "%s does not say what it is about", first)
	if again := name(of("probes", "autogen-check", "Deployment", "team-a", "web"), request.Statements{Reason: "another", Ticket: "SEC-1", Owner: "team-b", ExpiresIn: "1h"}); again != first {
		t.Errorf("%s, and %s when it is asked for again", first, again)
	}
	met := map[string]bool{first: true}
	for _, v := range []request.Violation{
		of("probes", "autogen-tag", "Deployment", "team-a", "web"), of("probes", "autogen-check", "Deployment", "team-b", "web"), of("probes", "autogen-check", "StatefulSet", "team-a", "web"),
		of("probes", "replicas", "Deployment", "team-a", "web"), of("readiness", "", "Deployment", "team-a", "web"),
		of("roles", "check", "ClusterRole", "", "System:Node_"+strings.Repeat("x", 100)+"y"), of("probes", "check", "Pod", "team-a", strings.Repeat("a", 23)+"-"+strings.Repeat("b", 100)),
	} {
		n := name(v, said)
		expect.That(t, !met[n], "%s is the name of another, too", n)
		met[n] = true
	}
}

func TestTooMany(t *testing.T) {
	_, _, err := request.New(make([]request.Violation, request.MaxViolations+1), request.Options{})
	expect.That(t, err != nil, "more than are taken in")
	_, _, err = request.New(nil, request.Options{Namespace: "*"})
	expect.That(t, err != nil, "a namespace that is none")
}

// exempts returns the resources that an exception exempts: by its match as polex reads it, or by
// its match conditions as CEL evaluates them.
func exempts(t *testing.T, doc *exception.Document, resources []*exception.Document) []exception.Identity {
	t.Helper()
	e := kyverno.Read(doc)
	if !e.ByMatch {
		var all []exception.Identity
		met := conditionOf(t, e)
		for _, r := range resources {
			if met(r.Object()) {
				all = append(all, r.Identity())
			}
		}
		return all
	}
	checker := must.Get(shape.New(shape.Config{Resources: shape.ReadResources(resources)}))(t)
	found := checker.Exempted(doc)
	must.That(t, found.Known && !found.Cut && found.Count == len(found.Resources), "%+v", found)
	return found.Resources
}

// conditionOf compiles the one match condition of a draft. It depends on the object only, and is never an error.
func conditionOf(t *testing.T, e *kyverno.Exception) func(object map[string]any) bool {
	t.Helper()
	must.That(t, len(e.Conditions) == 1, "%d conditions", len(e.Conditions))
	env := must.Get(cel.NewEnv(cel.Variable("object", cel.DynType)))(t)
	text := e.Conditions[0].Expression.Text
	checked, issues := env.Compile(text)
	must.That(t, issues.Err() == nil, "%v", issues.Err())
	program := must.Get(env.Program(checked))(t)
	return func(object map[string]any) bool {
		t.Helper()
		result, _, err := program.Eval(map[string]any{"object": object})
		must.That(t, err == nil, "%s: %v", text, err)
		return result.Value() == true
	}
}
