package request_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/shape"
)

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
			if err != nil {
				t.Fatal(err)
			}
			if tc.problem != "" {
				if len(drafts) > 0 || len(problems) != 1 || problems[0].Reason != tc.problem {
					t.Errorf("%v, %+v", drafts, problems)
				}
				return
			}
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			strict(t, drafts[0], o.Policies)
			if diff := cmp.Diff(append([]string{"standards: baseline", "v1/Pod team-a: web"}, tc.want...), drafted(t, drafts[0])); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
