//go:build e2e

package request

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
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
	s := &story{t: t, dir: t.TempDir()}
	s.command = filepath.Join(s.dir, "polex-request")
	must.Run(t, exec.CommandContext(t.Context(), "go", "build", "-o", s.command, fixture.FromRoot("cmd/polex-request")))
	s.Cluster = must.Get(fixture.Cluster(t.Context(), cluster.Options{Dir: t.TempDir()}))(t)
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
			said := s.denied(pods, text)
			expect.That(t, strings.Contains(said, "blocked due to"), "%s: %s", what, said)
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
		expect.Equal(t, "from the cluster",
			draft, s.run("--from", "cluster", "--kubeconfig", s.Kubeconfig(), "--namespace", "team-a"))
	})

	t.Run("policies.kyverno.io", func(t *testing.T) {
		s.t = t
		const maps = "/api/v1/namespaces/team-b/configmaps"
		s.create("/apis/policies.kyverno.io/v1/validatingpolicies", validatingPolicy)
		denial := s.denied(maps, settings("settings"))
		draft := s.draft(validatingPolicy, settings("settings"), "--from", "denial", "denial.txt", denial)
		s.create("/apis/policies.kyverno.io/v1/namespaces/team-b/policyexceptions", draft)
		s.admitted(maps, settings("settings"))
		said := s.denied(maps, settings("settings-2"))
		expect.That(t, strings.Contains(said, "an owner is required"), "a sibling: %s", said)
	})
}

// create creates an object permanently.
func (s *story) create(path, text string) {
	s.t.Helper()
	err := cluster.OK(s.Post(s.t.Context(), path+"?fieldValidation=Strict", []byte(text)))
	must.That(s.t, err == nil, "create below %s: %v\n%s", path, err, text)
}

// try creates an object in a dry run.
func (s *story) try(ctx context.Context, path, text string) (*cluster.Answer, error) {
	return s.Post(ctx, path+"?dryRun=All", []byte(text))
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
		said = answer.Message()
		return expect.Unless(!answer.OK() && strings.Contains(said, "denied the request"), "%s", said)
	})
	return said
}

func (s *story) admitted(path, text string) {
	s.t.Helper()
	s.until("admitted", func(ctx context.Context) error { return cluster.OK(s.try(ctx, path, text)) })
}

func (s *story) until(what string, ask func(context.Context) error) {
	s.t.Helper()
	fixture.Until(s.t, s.Cluster, soon, what, ask)
}

// draft runs the command with a denial, the policy and the manifest.
func (s *story) draft(policy, manifest string, arguments ...string) string {
	s.t.Helper()
	denial := arguments[len(arguments)-1]
	for name, text := range map[string]string{"policy.yaml": policy, "manifest.yaml": manifest, "denial.txt": "Error from server: " + denial + "\n"} {
		must.Do(s.t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
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
	must.That(s.t, err == nil, "%v: %v\n%s%s", arguments, err, out, stderr.String())
	must.Get(exception.Parse(out, ""))(s.t)
	return string(out)
}

// question is the input of Kyverno's CLI.
type question struct {
	policies, resources, exceptions, values string
}

// answer is its result for one rule and one resource: "fail", "skip" if an exception exempts it, "pass" and so on.
type answer struct {
	Policy, Rule, Result string
	Resources            []struct{ APIVersion, Kind, Namespace, Name string }
}

// ask returns the printed report, and its results by policy, rule and resource. A rule with several
// results counts as failed if one fails.
func (q question) ask(t *testing.T) (printed string, results map[string]string) {
	t.Helper()
	dir := t.TempDir()
	arguments := []string{"apply", "--policy-report", "--output-format", "json", "policies.yaml", "--resource", "resources.yaml"}
	for name, text := range map[string]string{"policies.yaml": q.policies, "resources.yaml": q.resources, "exceptions.yaml": q.exceptions, "values.yaml": q.values} {
		if text == "" {
			continue
		}
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	if q.exceptions != "" {
		arguments = append(arguments, "--exception", "exceptions.yaml")
	}
	if q.values != "" {
		arguments = append(arguments, "--values-file", "values.yaml")
	}
	apply := exec.CommandContext(t.Context(), fixture.FromRoot("bin/e2e/kubectl-kyverno"), arguments...)
	apply.Dir = dir
	out, err := apply.Output()
	var status *exec.ExitError
	must.That(t, err == nil || errors.As(err, &status), "run Kyverno's CLI, which `make e2e` builds: %v", err)
	printed = string(out)
	results = map[string]string{}
	rest := printed[max(0, strings.IndexByte(printed, '{')):]
	for part := range strings.SplitSeq(rest, "\n---\n") {
		var report struct{ Results []answer }
		if json.Unmarshal([]byte(part), &report) != nil {
			continue // the CLI could not read its input
		}
		for _, a := range report.Results {
			if a.Result == "skip" && a.Rule == "exception" {
				a.Rule = "" // of a policy without rules
			}
			for _, r := range a.Resources {
				key := fmt.Sprintf("%s %s %s %s/%s", a.Policy, a.Rule, r.Kind, r.Namespace, r.Name)
				if results[key] != "fail" {
					results[key] = a.Result
				}
			}
		}
	}
	return printed, results
}

// documents returns the readable documents of a text.
func documents(text string) []*exception.Document {
	r := exception.NewReader(strings.NewReader(text), "").Large() // like the policies of polex-validate
	var docs []*exception.Document
	for {
		d, err := r.Next()
		var syntax *exception.SyntaxError
		switch {
		case err == nil:
			docs = append(docs, d)
		case errors.As(err, &syntax):
		default:
			return docs
		}
	}
}
