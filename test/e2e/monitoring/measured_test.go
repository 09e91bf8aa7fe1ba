//go:build e2e

package monitoring

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/guard/static"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/guard"
	"github.com/polex-dev/polex/test/e2e/servers"
	"github.com/polex-dev/polex/test/must"
)

// waitLimit is the timeout for expected events.
const waitLimit = time.Minute

// kyvernoPolicies has one of each kind. For some ConfigMaps of the namespace shop they fail, and
// for some they cannot be evaluated.
const kyvernoPolicies = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: legacy}
spec:
  background: false
  rules:
  - name: good
    match: {any: [{resources: {kinds: [ConfigMap], namespaces: [shop]}}]}
    validate: {failureAction: Enforce, message: it is not good, pattern: {data: {good: "yes"}}}
  - name: broken
    match: {any: [{resources: {kinds: [ConfigMap], namespaces: [shop]}}]}
    validate:
      failureAction: Enforce
      message: it cannot be said
      deny: {conditions: {any: [{key: "{{ request.object.data.size }}", operator: GreaterThan, value: 1}]}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: native}
spec:
  validationActions: [Deny]
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  validations: [{expression: object.data.good == "yes", message: it is not good}]
`

// ofKyverno returns Kyverno's metrics after its policies have failed, and after one could not be evaluated.
func ofKyverno(t *testing.T) string {
	t.Helper()
	kubectl(t, "", "create", "namespace", "shop")
	kubectl(t, kyvernoPolicies, "apply", "-f", "-")
	want := []string{`rule_result="fail"`, `rule_result="error"`, `,result="fail"`, `,result="error"`}
	said := ""
	until(t, "Kyverno to measure", func(ctx context.Context) error {
		for _, data := range []string{`{good: "no"}`, `{other: "x"}`} {
			body := fmt.Appendf(nil, `{apiVersion: v1, kind: ConfigMap, metadata: {generateName: a-}, data: %s}`, data)
			if _, err := live.Post(ctx, "/api/v1/namespaces/shop/configmaps", body); err != nil {
				return err
			}
		}
		var err error
		if said, err = servers.Fetch(ctx, live.KyvernoMetrics()); err != nil {
			return err
		}
		return lacks(said, want...)
	})
	return said
}

// ofTheAPIServer returns the API server's metrics about its static files, after it could not load one.
func ofTheAPIServer(t *testing.T) string {
	t.Helper()
	bad := filepath.Join(folder, staticFolder, static.PolicyPlugin, "bad.yaml")
	write(t, bad, "{}\n")
	defer os.Remove(bad)
	said := ""
	until(t, "the API server to measure", func(ctx context.Context) error {
		answer, err := live.Get(ctx, "/metrics")
		if err != nil {
			return err
		}
		said = ""
		failed := false
		for line := range strings.Lines(string(answer.Body)) {
			failed = failed || strings.Contains(line, "_automatic_reloads_total{") && strings.Contains(line, `status="failure"`)
			if strings.Contains(line, "apiserver_manifest_admission_config_controller_") || strings.Contains(line, "apiserver_current_inflight_requests") {
				said += line
			}
		}
		if !failed {
			return errors.New("no reload has failed yet")
		}
		return lacks(said, "apiserver_current_inflight_requests{", `hash="",plugin="ValidatingAdmissionWebhook"`, `hash="sha256:`)
	})
	return said
}

// request returns a request for an exception with a lifetime.
func request(name, lives string) string {
	return fmt.Sprintf(`apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: %s, namespace: platform, annotations: {polex.dev/expires-in: %s, polex.dev/reason: until it is fixed}}
spec:
  match: {any: [{resources: {kinds: [Pod], namespaces: [data], names: [%s]}}]}
  exceptions: [{policyName: require-probes, ruleNames: [a]}]
`, name, lives, name)
}

// repository is a repository with two requested and signed exceptions. One of them expires soon, the other was renewed.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "unsigned", "mongo.yaml"), request("mongo", "2w"))
	write(t, filepath.Join(dir, "unsigned", "short.yaml"), request("short", "5s"))
	promote := func(message string) {
		for _, args := range [][]string{{"add", "--all"}, {"commit", "--quiet", "--message=" + message}} {
			output(t, dir, "", "git", args...)
		}
		output(t, dir, "", filepath.Join(folder, "polex-sign"), "--config", box.ConfigPath, "promote", "--commit")
	}
	output(t, dir, "", "git", "init", "--quiet", "--initial-branch=main")
	promote("Ask for two")
	output(t, dir, "", filepath.Join(folder, "polex-request"), "--config", box.ConfigPath, "--renew", "mongo",
		"--expires-in", "1w")
	promote("Ask for one again")
	return dir
}

// ofTheGuard returns the guard's metrics after it has admitted the repository's exceptions,
// rejected another one, found an older one, and deleted an expired one.
func ofTheGuard(t *testing.T, repository string) string {
	t.Helper()
	kubectl(t, "", "create", "namespace", "platform")
	kubectl(t, request("before", "2w"), "create", "-f", "-")
	kubectl(t, "", "create", "-f", filepath.Join(repository, "signed", "short.yaml"))
	p, bundle := guard.Serve(t, guard.Options{Binaries: folder, Config: box.ConfigPath, Kubeconfig: live.Kubeconfig()})
	kubectl(t, guard.Registration(p.Webhook, bundle), "create", "-f", "-")
	t.Cleanup(func() { _, _ = live.Delete(context.Background(), guard.Webhooks+"/polex-guard") })
	signed := string(readFrom(t, filepath.Join(repository, "signed", "mongo.yaml")))
	said := ""
	until(t, "the guard to measure", func(ctx context.Context) error {
		for _, text := range []string{request("after", "2w"), signed} {
			path := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: "platform"}.Path("")
			if _, err := live.Post(ctx, path, []byte(text)); err != nil {
				return err
			}
		}
		var err error
		if said, err = servers.Fetch(ctx, "http://"+p.Metrics+"/metrics"); err != nil {
			return err
		}
		return lacks(said, `operation="CREATE",reason="unsigned"} 1`, `operation="CREATE",reason="verified"}`, `polex_guard_exceptions{kind="PolicyException.kyverno.io",reason="unsigned"} 1`,
			`polex_guard_exceptions{kind="PolicyException.kyverno.io",reason="verified"} 1`, "\npolex_guard_certificate_expiry_timestamp_seconds{",
			`polex_guard_deletions_total{reason="expired"} 1`)
	})
	return said
}

// ofTheLedger returns the file that polex-audit writes for the node exporter.
func ofTheLedger(t *testing.T, repository string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "polex.prom")
	output(t, repository, "", filepath.Join(folder, "polex-audit"), "--config", box.ConfigPath, "--kubeconfig",
		live.Kubeconfig(), "--report", "prometheus="+file)
	said := string(readFrom(t, file))
	err := lacks(said, `polex_audit_findings{kind="cluster-unsigned"} 1`, `polex_audit_findings{kind="expired"} 1`, `polex_audit_exceptions{state="open"} 2`,
		`polex_audit_renewals{group="kyverno.io",namespace="platform",name="mongo-r1"} 1`)
	must.Do(t, err)
	return said
}

func until(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	fixture.Until(t, live, waitLimit, what, ask)
}

func lacks(text string, want ...string) error {
	var errs []error
	for _, w := range want {
		if !strings.Contains(text, w) {
			errs = append(errs, fmt.Errorf("there is no %q", w))
		}
	}
	return errors.Join(errs...)
}

func readFrom(t *testing.T, path string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(path))(t)
}

// question is the input of the program queries.
type question struct {
	Measured []string
	Values   map[string][]string
	Given    []string
	Queries  []query
}

type query struct {
	Expression string
	Read       []string
}

// problems returns the problems of each query.
func (q question) problems(t *testing.T) [][]string {
	t.Helper()
	input := must.Get(json.Marshal(q))(t)
	var answer [][]string
	if err := json.Unmarshal([]byte(output(t, folder, string(input), fixture.FromRoot(binaries+"/queries"))),
		&answer); err != nil || len(answer) != len(q.Queries) {
		t.Fatalf("%v: %d answers to %d queries", err, len(answer), len(q.Queries))
	}
	return answer
}
