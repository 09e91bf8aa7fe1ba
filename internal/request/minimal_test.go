package request_test

import (
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/documents"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// scene contains the resources of the violations, and resources that differ from them only in the
// name, the namespace, the kind or the group.
var scene = strings.Join([]string{
	resource("apps/v1", "Deployment", "team-a", "web"),
	resource("apps/v1", "Deployment", "team-a", "api"),
	resource("apps/v1", "Deployment", "team-b", "web"),
	resource("apps/v1", "StatefulSet", "team-a", "web"),
	resource("apps.example/v1", "Deployment", "team-a", "web"),
	resource("apps/v1", "ReplicaSet", "team-a", "web-5d8f7c9b6d"),
	resource("apps/v1", "ReplicaSet", "team-a", "web-api-5d8f7c9b6d"),
	resource("apps/v1", "ReplicaSet", "team-b", "web-5d8f7c9b6d"),
	resource("apps.example/v1", "ReplicaSet", "team-a", "web-5d8f7c9b6d"),
	resource("apps/v1", "DaemonSet", "team-a", "web-5d8f7c9b6d"),
	resource("v1", "Pod", "team-a", "web-5d8f7c9b6d-x2x4z"),
	resource("v1", "Pod", "team-a", "web-api-5d8f7c9b6d-x2x4z"),
	resource("v1", "Pod", "team-b", "web-5d8f7c9b6d-x2x4z"),
	resource("v1", "ConfigMap", "team-a", "web-5d8f7c9b6d-x2x4z"),
	resource("pods.example/v1", "Pod", "team-a", "web-5d8f7c9b6d-x2x4z"),
	resource("networking.k8s.io/v1", "Ingress", "team-a", "front"),
	resource("networking.k8s.io/v1", "Ingress", "team-a", "back"),
	resource("networking.k8s.io/v1", "Ingress", "team-b", "front"),
	resource("networking.k8s.io/v1", "NetworkPolicy", "team-a", "front"),
	resource("extensions/v1", "Ingress", "team-a", "front"),
}, "---\n")

// resource is a resource. One with the hash of a Pod template in its name has its label.
func resource(apiVersion, kind, namespace, name string) string {
	labels := ""
	if hash := "5d8f7c9b6d"; strings.Contains(name, hash) {
		labels = ", labels: {pod-template-hash: " + hash + "}"
	}
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: %s%s}\n", apiVersion, kind, name, namespace, labels)
}

// TestMinimal: each draft exempts the resources of its violation and no similar ones. Without any
// one of its restrictions, it would exempt more or be rejected.
func TestMinimal(t *testing.T) {
	known := shape.ReadPolicies(documents.All(t, policies))
	checker := must.Get(shape.New(shape.Config{Preset: "strict", Policies: known}))(t)
	resources := documents.All(t, scene)
	for _, tc := range []struct {
		violation request.Violation
		exempt    int
	}{
		// Kyverno's selectors cannot express the core group: "v1/Pod" is a Pod of any group, also of pods.example.
		{of("probes", "autogen-check", "Deployment", "team-a", "web"), 4},
		{of("probes", "replicas", "Deployment", "team-a", "web"), 1},
		{of("probes", "check", "Pod", "team-a", "web-5d8f7c9b6d-x2x4z"), 2},
		{of("team-a/labels", "check", "Ingress", "team-a", "front"), 1},
		{of("readiness", "", "Deployment", "team-a", "web"), 3},
		{of("readiness", "", "Pod", "team-a", "web-5d8f7c9b6d-x2x4z"), 1},
		{of("team-a/hosts", "", "Ingress", "team-a", "front"), 1},
	} {
		draft := only(t, request.Options{Policies: known, Statements: said}, tc.violation)
		got := len(exempts(t, draft.Document, resources))
		expect.That(t, got == tc.exempt, "%s %s: %d exempt, want %d\n%s", tc.violation.Policy, tc.violation.Resource, got, tc.exempt, draft.Source)
		wider := append(withoutFields(t, draft.Document), withoutConditions(t, draft.Source)...)
		expect.That(t, len(wider) >= 3, "%s: only %d restrictions", tc.violation.Resource, len(wider))
		for _, doc := range wider {
			refused := false
			for _, f := range checker.Check(doc, now) {
				refused = refused || f.Severity == shape.Error
			}
			if !refused && len(exempts(t, doc, resources)) <= tc.exempt {
				object, _ := manifest.Readable(doc.Object())
				t.Errorf("%s: without a restriction, it exempts no more\n%s", tc.violation.Resource, object)
			}
		}
	}
}

// withoutFields removes one field of one filter each time, and uses all rules.
func withoutFields(t *testing.T, doc *exception.Document) []*exception.Document {
	t.Helper()
	value, there := doc.Lookup("spec", "match", "any")
	if !there {
		return nil
	}
	var all []*exception.Document
	changed := func(change func(spec map[string]any)) {
		object := doc.Object()
		change(object["spec"].(map[string]any))
		d := must.Get(exception.FromObject(object))(t)
		all = append(all, d)
	}
	for i := range value.([]any) {
		for _, field := range []string{"kinds", "names", "namespaces"} {
			changed(func(spec map[string]any) {
				delete(spec["match"].(map[string]any)["any"].([]any)[i].(map[string]any)["resources"].(map[string]any), field)
			})
		}
	}
	changed(func(spec map[string]any) { spec["exceptions"].([]any)[0].(map[string]any)["ruleNames"] = []any{"*"} })
	return all
}

var comparison = regexp.MustCompile(`object\.[a-z.A-Z]+( == '[^']*'|\.(matches|startsWith)\('[^']*'\))`)

// withoutConditions removes one comparison each time.
func withoutConditions(t *testing.T, source []byte) []*exception.Document {
	t.Helper()
	text := string(source)
	if !strings.Contains(text, "matchConditions") {
		return nil
	}
	var all []*exception.Document
	for _, at := range comparison.FindAllStringIndex(text, -1) {
		all = append(all, documents.All(t, text[:at[0]]+"true"+text[at[1]:])[0])
	}
	return all
}

// more returns policies for different kinds.
func more() string {
	text := policies
	for i := range 4 {
		text += fmt.Sprintf("---\n"+`apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: other-%d}
spec:
  rules:
  - name: check
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: m, pattern: {spec: {a: b}}}
  - name: own
    match: {any: [{resources: {kinds: [Deployment, StatefulSet, Ingress]}}]}
    validate: {message: m, pattern: {spec: {a: b}}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: cel-%[1]d}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
`, i)
	}
	return text
}

// exempted returns the exemptions of all drafts: each rule of each policy with each resource.
func exempted(t *testing.T, drafts []request.Draft, resources []*exception.Document) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, d := range drafts {
		found := exempts(t, d.Document, resources)
		for _, ref := range kyverno.Read(d.Document).Refs {
			rules := []string{""}
			for _, rule := range ref.Rules {
				rules = append(rules, rule.Text)
			}
			for _, rule := range rules {
				for _, resource := range found {
					all[fmt.Sprint(ref.Kind.Text, " ", ref.Name.Text, " ", rule, " ", resource)] = true
				}
			}
		}
	}
	return all
}

// TestMerge: for any violations, merged exceptions exempt the same as single ones. None exceeds the
// maximum number of policies.
func TestMerge(t *testing.T) {
	known := shape.ReadPolicies(documents.All(t, more()))
	resources := documents.All(t, scene)
	choices := []request.Violation{of("standards", "autogen-baseline", "Deployment", "team-a", "web"), of("images", "autogen-verify", "Deployment", "team-a", "web"), of("pods-alone", "check", "Pod", "team-a", "web-5d8f7c9b6d-x2x4z")}
	for _, policy := range []string{"probes", "other-0", "other-1", "other-2", "other-3"} {
		for _, rule := range []string{"autogen-check", "autogen-tag", "own", "replicas"} {
			for _, kind := range []string{"Deployment", "StatefulSet", "Ingress", "Pod"} {
				name := map[string]string{"Ingress": "front", "Pod": "web-5d8f7c9b6d-x2x4z"}[kind]
				if name == "" {
					name = "web"
				}
				if kind == "Pod" {
					rule = strings.TrimPrefix(rule, "autogen-")
				}
				choices = append(choices, of(policy, rule, kind, "team-a", name), of(policy, rule, kind, "team-b", name))
			}
		}
	}
	for i := range 4 {
		choices = append(choices, of(fmt.Sprint("cel-", i), "", "Deployment", "team-a", "web"), of(fmt.Sprint("cel-", i), "", "Deployment", "team-b", "web"))
	}
	random := mathrand.New(mathrand.NewPCG(1, 2))
	fewer, limited := 0, 0
	for range 100 {
		var violations []request.Violation
		for range 1 + random.IntN(12) {
			violations = append(violations, choices[random.IntN(len(choices))])
		}
		o := request.Options{Policies: known, Statements: said, MaxPolicies: random.IntN(4)}
		if random.IntN(2) == 0 {
			o.Objects = documents.All(t, manifests)
		}
		single, _, err := request.New(violations, o)
		must.Do(t, err)
		o.Merge = true
		merged, _, err := request.New(violations, o)
		must.Do(t, err)
		if diff := cmp.Diff(exempted(t, single, resources), exempted(t, merged, resources)); diff != "" {
			t.Fatalf("limit %d (-single +merged):\n%s", o.MaxPolicies, diff)
		}
		answers := func(drafts []request.Draft) []string {
			all := map[string]bool{}
			for _, d := range drafts {
				for _, v := range d.Answers {
					all[line(v)] = true
				}
			}
			return slices.Sorted(maps.Keys(all))
		}
		diff := cmp.Diff(answers(single), answers(merged))
		must.That(t, diff == "", "answers (-single +merged):\n%s", diff)
		if len(merged) < len(single) {
			fewer++
		}
		for _, d := range merged {
			refs := len(kyverno.Read(d.Document).Refs)
			if o.MaxPolicies > 0 && refs > o.MaxPolicies {
				t.Fatalf("%d policies, and %d are allowed\n%s", refs, o.MaxPolicies, d.Source)
			}
			if refs > 1 && refs == o.MaxPolicies {
				limited++
			}
		}
	}
	expect.That(t, fewer >= 10 && limited >= 5,
		"%d times fewer drafts, %d at the limit: nothing was tried", fewer, limited)
}

// TestMerged: one exception for a workload lists its policies and has its own name.
func TestMerged(t *testing.T) {
	known := shape.ReadPolicies(documents.All(t, more()))
	violations := []request.Violation{
		of("probes", "autogen-check", "Deployment", "team-a", "web"), of("other-0", "autogen-check", "Deployment", "team-a", "web"), of("other-1", "own", "Deployment", "team-a", "web"),
		of("standards", "autogen-baseline", "Deployment", "team-a", "web"),
		of("cel-0", "", "Deployment", "team-a", "web"), of("cel-1", "", "Deployment", "team-a", "web"),
	}
	violations[3].Controls = []request.Control{{Name: "Host Namespaces", Pod: true}}
	drafts, problems, err := request.New(violations, request.Options{Policies: known, Statements: said, Merge: true})
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	var got []string
	for _, d := range drafts {
		id := d.Document.Identity()
		got = append(got, id.Name[:len(id.Name)-10]+": "+d.Words)
	}
	const all = "exempts Deployment team-a/web, its ReplicaSets and its Pods from "
	diff := cmp.Diff([]string{
		"web-2-policies-: " + all + "the whole of ValidatingPolicy cel-0 and the whole of ValidatingPolicy cel-1",
		"web-2-policies-: " + all + "rules autogen-check and check of ClusterPolicy other-0 and rules autogen-check and check of ClusterPolicy probes",
		"web-other-1-: exempts Deployment team-a/web from rule own of ClusterPolicy other-1",
		"web-standards-: " + all + "rules autogen-baseline and baseline of ClusterPolicy standards, as to Host Namespaces",
	}, got)
	expect.That(t, diff == "", "(-want +got):\n%s", diff)
}

// pods returns Pods with the names and labels of a controller.
func pods(kind, owner string) []string {
	pod := func(name string, labels ...string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: team-a, labels: {%s}}\n", name, strings.Join(labels, ", "))
	}
	var all []string
	for i := range 12 {
		hash := rand.SafeEncodeString(fmt.Sprint(1_000_000_000 + 270_000_001*uint32(i)))
		switch kind {
		case "Deployment", "ReplicaSet":
			if kind == "Deployment" {
				all = append(all, pod(owner+"-"+hash+"-"+rand.String(5), "pod-template-hash: '"+hash+"'"))
			} else if i < 2 { // without a Deployment
				all = append(all, pod(owner+"-"+rand.String(5)))
			}
		case "StatefulSet":
			name := fmt.Sprintf("%s-%d", owner, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 345}[i])
			if owner == "web" && i > 9 {
				continue // more than the maximum without a manifest
			}
			all = append(all, pod(name, "controller-revision-hash: "+owner+"-"+hash, "statefulset.kubernetes.io/pod-name: "+name, `apps.kubernetes.io/pod-index: "0"`))
		case "DaemonSet":
			all = append(all, pod(owner+"-"+rand.String(5), "controller-revision-hash: '"+hash+"'", `pod-template-generation: "1"`))
		case "Job":
			all = append(all, pod(owner+"-"+rand.String(5), "job-name: "+owner, "batch.kubernetes.io/job-name: "+owner))
		case "CronJob":
			job := fmt.Sprintf("%s-%d", owner, 29_000_000+1440*i)
			all = append(all, pod(job+"-"+rand.String(5), "job-name: "+job, "batch.kubernetes.io/job-name: "+job))
		}
	}
	return all
}

// siblings are names of other workloads that begin in the same way. Patterns of "?" could match them as Pods.
var siblings = []string{"web-a", "web-db", "web-api", "web-db-a", "web-cache", "web-frontend", "web-collector", "web-collectors", "web-frontend-api", "web-collectors-a", "web-29000000-db"}

// TestSiblings: a draft exempts the Pods of its workload, and no Pods of workloads with a similar name.
func TestSiblings(t *testing.T) {
	known := shape.ReadPolicies(documents.All(t, policies))
	kinds := []string{"Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"}
	for _, kind := range kinds {
		for _, violation := range []request.Violation{of("probes", map[string]string{"CronJob": "autogen-cronjob-check"}[kind], kind, "team-a", "web"), of("readiness", "", kind, "team-a", "web")} {
			if violation.Policy == "probes" && violation.Rule == "" {
				violation.Rule = "autogen-check"
			}
			draft := only(t, request.Options{Policies: known, Statements: said}, violation)
			exempt := func(manifests []string) []string {
				var names []string
				for _, r := range exempts(t, draft.Document, documents.All(t, strings.Join(manifests, "---\n"))) {
					names = append(names, r.Name)
				}
				return names
			}
			own := pods(kind, "web")
			if got := exempt(own); len(got) != len(own) {
				t.Errorf("%s, %s: %d of its %d Pods are exempt\n%s", violation.Policy, kind, len(got), len(own), draft.Source)
			}
			for _, sibling := range siblings {
				for _, other := range append(kinds, "ReplicaSet") {
					if got := exempt(pods(other, sibling)); len(got) > 0 {
						t.Errorf("%s, %s web: exempts %v of %s %s", violation.Policy, kind, got, other, sibling)
					}
				}
			}
		}
	}
}

// TestOrdinals: the Pods of a StatefulSet are listed by name, as many as its manifest requests.
func TestOrdinals(t *testing.T) {
	for _, tc := range []struct {
		spec  string
		pod   string
		count int
		last  string
	}{
		{"", "", 10, "db-9"},
		{"replicas: 3", "", 10, "db-9"},
		{"replicas: 12", "", 12, "db-11"},
		{"replicas: 3, ordinals: {start: 5}", "", 10, "db-14"},
		{"replicas: 1000000000", "", 100, "db-99"},
		{"replicas: 9999999999, ordinals: {start: -7}", "", 100, "db-99"},
		{"replicas: many", "db-250", 11, "db-250"},
	} {
		o := request.Options{Policies: shape.ReadPolicies(documents.All(t, policies)), Statements: said}
		violations := []request.Violation{of("probes", "autogen-check", "StatefulSet", "team-a", "db")}
		if tc.spec != "" {
			o.Objects = documents.All(t, "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, namespace: team-a}\nspec: {"+tc.spec+"}\n")
		}
		if tc.pod != "" {
			violations = append(violations, of("probes", "check", "Pod", "team-a", tc.pod))
		}
		names := strings.Fields(strings.TrimPrefix(drafted(t, only(t, o, violations...))[2], "v1/Pod team-a: "))
		expect.That(t, len(names) == tc.count && names[len(names)-1] == tc.last, "%s %s: %v", tc.spec, tc.pod, names)
	}
}

// forbidden returns one part of the message of a podSecurity rule.
func forbidden(reason string, fields ...string) string {
	return fmt.Sprintf("(Forbidden reason: %s, field error list: [%s])", reason, strings.Join(fields, ": Required value, ")+" is forbidden, forbidden values found: true")
}

func TestPodSecurity(t *testing.T) {
	const pod = `apiVersion: v1
kind: Pod
metadata: {name: web, namespace: team-a}
spec:
  containers: [{name: a, image: registry.example/a}, {name: b, image: nginx}]
  initContainers: [{name: i, image: "registry.example/i:1"}]
`
	privileged := []request.Control{{Name: "Privileged Containers", Images: []string{"registry.example/a:latest", "docker.io/nginx:latest"}}}
	for _, tc := range []struct {
		name     string
		controls []request.Control
		message  string
		manifest bool
		want     []string
		problem  string
	}{
		{name: "by report and manifest", controls: privileged, manifest: true, want: []string{"Privileged Containers nginx registry.example/a"}},
		{name: "by report alone", controls: privileged,
			want: []string{"Privileged Containers docker.io/library/nginx docker.io/library/nginx:latest docker.io/nginx docker.io/nginx:latest nginx nginx:latest registry.example/a registry.example/a:latest"}},
		{name: "by message and manifest", manifest: true, message: forbidden("privileged", "spec.initContainers[0].securityContext.privileged") + forbidden("hostPort", "spec.containers[1].ports[0].hostPort"),
			want: []string{"Host Ports nginx", "Privileged Containers registry.example/i:1"}},
		{name: "by message alone", message: forbidden("privileged", "spec.containers[0].securityContext.privileged"), problem: "manifest-needed"},
		{name: "a container that is not there", manifest: true, message: forbidden("privileged", "spec.containers[7].securityContext.privileged"), problem: "manifest-needed"},
		{name: "of the Pod", message: forbidden("host namespaces", "spec.hostNetwork", "spec.hostPID") + forbidden("hostPath volumes", "spec.volumes[0].hostPath"), want: []string{"Host Namespaces", "HostPath Volumes"}},
		{name: "of both", manifest: true, message: forbidden("seccompProfile", "spec.securityContext.seccompProfile.type", "spec.containers[0].securityContext.seccompProfile.type"), want: []string{"Seccomp", "Seccomp registry.example/a"}},
		{name: "of containers, where it may be of both", manifest: true, message: forbidden("runAsNonRoot != true", "spec.containers[0].securityContext.runAsNonRoot"), want: []string{"Running as Non-root registry.example/a"}},
		{name: "of the Pod, where it may be of both", message: forbidden("runAsNonRoot != true", "spec.securityContext.runAsNonRoot"), want: []string{"Running as Non-root"}},
		{name: "nobody says which", problem: "manifest-needed", message: "it failed"},
		{name: "an image that is a pattern", controls: []request.Control{{Name: "Privileged Containers", Images: []string{"*", "registry.example/?"}}}, problem: "manifest-needed"},
		{name: "no such control", message: forbidden("anything", "spec.hostNetwork"), problem: "manifest-needed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := of("standards", "baseline", "Pod", "team-a", "web")
			v.Controls, v.Message = tc.controls, tc.message
			o := request.Options{Policies: shape.ReadPolicies(documents.All(t, strings.ReplaceAll(policies, "level: baseline", "level: restricted"))), Statements: said}
			if tc.manifest {
				o.Objects = documents.All(t, pod)
			}
			drafts, problems, err := request.New([]request.Violation{v}, o)
			must.Do(t, err)
			if tc.problem != "" {
				expect.That(t, len(drafts) == 0 && len(problems) == 1 && problems[0].Reason == tc.problem,
					"%v, %+v", drafts, problems)
				return
			}
			must.That(t, len(problems) == 0, "%v", problems)
			strict(t, drafts[0], o.Policies)
			expect.Equal(t, "result",
				append([]string{"standards: baseline", "v1/Pod team-a: web"}, tc.want...), drafted(t, drafts[0]))
		})
	}
}
