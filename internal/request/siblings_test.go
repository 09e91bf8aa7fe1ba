package request_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

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
	known := shape.ReadPolicies(parse(t, policies))
	kinds := []string{"Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"}
	for _, kind := range kinds {
		for _, violation := range []request.Violation{of("probes", map[string]string{"CronJob": "autogen-cronjob-check"}[kind], kind, "team-a", "web"), of("readiness", "", kind, "team-a", "web")} {
			if violation.Policy == "probes" && violation.Rule == "" {
				violation.Rule = "autogen-check"
			}
			drafts, problems, err := request.New([]request.Violation{violation}, request.Options{Policies: known, Statements: said})
			if err != nil || len(drafts) != 1 {
				t.Fatal(problems, err)
			}
			exempt := func(manifests []string) []string {
				var names []string
				for _, r := range exempts(t, drafts[0].Document, parse(t, strings.Join(manifests, "---\n"))) {
					names = append(names, r.Name)
				}
				return names
			}
			own := pods(kind, "web")
			if got := exempt(own); len(got) != len(own) {
				t.Errorf("%s, %s: %d of its %d Pods are exempt\n%s", violation.Policy, kind, len(got), len(own), drafts[0].Source)
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
		o := request.Options{Policies: shape.ReadPolicies(parse(t, policies)), Statements: said}
		violations := []request.Violation{of("probes", "autogen-check", "StatefulSet", "team-a", "db")}
		if tc.spec != "" {
			o.Objects = parse(t, "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, namespace: team-a}\nspec: {"+tc.spec+"}\n")
		}
		if tc.pod != "" {
			violations = append(violations, of("probes", "check", "Pod", "team-a", tc.pod))
		}
		drafts, problems, err := request.New(violations, o)
		if err != nil || len(drafts) != 1 {
			t.Fatal(problems, err)
		}
		names := strings.Fields(strings.TrimPrefix(drafted(t, drafts[0])[2], "v1/Pod team-a: "))
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
			o := request.Options{Policies: shape.ReadPolicies(parse(t, strings.ReplaceAll(policies, "level: baseline", "level: restricted"))), Statements: said}
			if tc.manifest {
				o.Objects = parse(t, pod)
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
