//go:build e2e

package request

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/e2e/cluster"
)

const (
	clusterPolicy = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: probes}
spec:
  validationFailureAction: Enforce
  background: false
  rules:
  - name: check
    match: {any: [{resources: {kinds: [Pod], namespaces: [team-a]}}]}
    validate: {message: probes are required, pattern: {spec: {containers: [{livenessProbe: {periodSeconds: ">0"}}]}}}
  - name: tag
    match: {any: [{resources: {kinds: [Pod], namespaces: [team-a]}}]}
    validate: {message: no latest, pattern: {spec: {containers: [{image: "!*:latest"}]}}}
`
	validatingPolicy = `apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: priority}
spec:
  validationActions: [Deny]
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  matchConditions: [{name: here, expression: "request.namespace == 'team-b'"}]
  validations: [{expression: "has(object.metadata.labels) && 'owner' in object.metadata.labels", message: an owner is required}]
`
)

func pod(name, image string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: team-a}\nspec: {containers: [{name: a, image: %q}]}\n", name, image)
}

func settings(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: team-b}\n", name)
}

// story has a real cluster and the tested command.
type story struct {
	*cluster.Cluster
	t       *testing.T
	command string
	dir     string
}

// TestInACluster: polex-request drafts an exception from Kyverno's denial. With it, Kyverno admits
// the denied object, and no other.
func TestInACluster(t *testing.T) {
	root := func(path string) string {
		whole, err := filepath.Abs(filepath.Join("..", "..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		return whole
	}
	s := &story{t: t, dir: t.TempDir()}
	s.command = filepath.Join(s.dir, "polex-request")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", s.command, root("cmd/polex-request")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var err error
	if s.Cluster, err = cluster.Start(t.Context(), cluster.Options{Binaries: root("bin/e2e"), Tools: root("test/e2e/tools/kyverno"), Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, namespace := range []string{"team-a", "team-b"} {
		s.create("/api/v1/namespaces", "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+namespace+"}\n")
	}

	t.Run("kyverno.io", func(t *testing.T) {
		s.t = t
		const pods = "/api/v1/namespaces/team-a/pods"
		s.create("/apis/kyverno.io/v1/clusterpolicies", clusterPolicy)
		denial := s.denied(pods, pod("web", "registry.example/a:1"))
		draft := s.draft(clusterPolicy, pod("web", "registry.example/a:1"), "--from", "denial", "denial.txt", denial)
		s.create("/apis/kyverno.io/v2/namespaces/team-a/policyexceptions", draft)
		s.admitted(pods, pod("web", "registry.example/a:1"))
		for what, text := range map[string]string{"a sibling": pod("web-2", "registry.example/a:1"), "another rule": pod("web", "registry.example/a:latest")} {
			if said := s.denied(pods, text); !strings.Contains(said, "blocked due to") {
				t.Errorf("%s: %s", what, said)
			}
		}

		// The report of Kyverno's reports controller gives the same draft.
		s.create("/apis/wgpolicyk8s.io/v1alpha2/namespaces/team-a/policyreports", `apiVersion: wgpolicyk8s.io/v1alpha2
kind: PolicyReport
metadata: {name: 1f7e2f0a-0000-4000-8000-000000000000, namespace: team-a, labels: {app.kubernetes.io/managed-by: kyverno}}
scope: {apiVersion: v1, kind: Pod, name: web, namespace: team-a}
results:
- {policy: probes, rule: check, result: fail, scored: true, source: kyverno, message: probes are required, timestamp: {nanos: 0, seconds: 1790000000}}
- {policy: probes, rule: tag, result: pass, scored: true, source: kyverno, timestamp: {nanos: 0, seconds: 1790000000}}
`)
		if fromCluster := s.run("--from", "cluster", "--kubeconfig", s.Kubeconfig(), "--namespace", "team-a"); fromCluster != draft {
			t.Errorf("from the cluster:\n%s\nfrom the denial:\n%s", fromCluster, draft)
		}
	})

	t.Run("policies.kyverno.io", func(t *testing.T) {
		s.t = t
		const maps = "/api/v1/namespaces/team-b/configmaps"
		s.create("/apis/policies.kyverno.io/v1/validatingpolicies", validatingPolicy)
		denial := s.denied(maps, settings("settings"))
		draft := s.draft(validatingPolicy, settings("settings"), "--from", "denial", "denial.txt", denial)
		s.create("/apis/policies.kyverno.io/v1/namespaces/team-b/policyexceptions", draft)
		s.admitted(maps, settings("settings"))
		if said := s.denied(maps, settings("settings-2")); !strings.Contains(said, "an owner is required") {
			t.Errorf("a sibling: %s", said)
		}
	})
}

// create creates an object permanently.
func (s *story) create(path, text string) {
	s.t.Helper()
	answer, err := s.Do(s.t.Context(), cluster.Request{Method: http.MethodPost, Path: path + "?fieldValidation=Strict", Body: []byte(text)})
	if err != nil || !answer.OK() {
		s.t.Fatalf("create below %s: %v %+v\n%s", path, err, answer, text)
	}
}

// try creates an object in a dry run.
func (s *story) try(ctx context.Context, path, text string) (*cluster.Answer, error) {
	return s.Do(ctx, cluster.Request{Method: http.MethodPost, Path: path + "?dryRun=All", Body: []byte(text)})
}

const soon = 3 * time.Minute // for Kyverno to notice new objects, on a busy machine

// denied waits until an object is denied, and returns the message.
func (s *story) denied(path, text string) (said string) {
	s.t.Helper()
	s.until("denied", func(ctx context.Context) error {
		answer, err := s.try(ctx, path, text)
		if err != nil {
			return err
		}
		if said = answer.Message(); answer.OK() || !strings.Contains(said, "denied the request") {
			return errors.New(said)
		}
		return nil
	})
	return said
}

func (s *story) admitted(path, text string) {
	s.t.Helper()
	s.until("admitted", func(ctx context.Context) error {
		answer, err := s.try(ctx, path, text)
		if err == nil && !answer.OK() {
			err = errors.New(answer.Message())
		}
		return err
	})
}

func (s *story) until(what string, ask func(context.Context) error) {
	s.t.Helper()
	within, cancel := context.WithTimeout(s.t.Context(), soon)
	defer cancel()
	if err := s.Until(within, what, ask); err != nil {
		s.t.Fatal(err)
	}
}

// draft runs the command with a denial, the policy and the manifest.
func (s *story) draft(policy, manifest string, arguments ...string) string {
	s.t.Helper()
	denial := arguments[len(arguments)-1]
	for name, text := range map[string]string{"policy.yaml": policy, "manifest.yaml": manifest, "denial.txt": "Error from server: " + denial + "\n"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	return s.run(append([]string{"--policies", "policy.yaml", "--resources", "manifest.yaml"}, arguments[:len(arguments)-1]...)...)
}

// run runs the command, which must draft one exception for the strict preset.
func (s *story) run(arguments ...string) string {
	s.t.Helper()
	command := exec.CommandContext(s.t.Context(), s.command, append([]string{"--preset", "strict", "--reason", "a test", "--ticket", "SEC-1", "--owner", "team-a", "--expires-in", "1d"}, arguments...)...)
	command.Dir = s.dir
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		s.t.Fatalf("%v: %v\n%s%s", arguments, err, out, stderr.String())
	}
	if _, err := exception.Parse(out, ""); err != nil {
		s.t.Fatal(err)
	}
	return string(out)
}
