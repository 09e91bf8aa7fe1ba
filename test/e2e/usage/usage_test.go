//go:build e2e

package usage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/internal/usage"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/servers"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// waitLimit is the timeout for the reports of all resources.
const waitLimit = 5 * time.Minute

// kyverno is Kyverno's command line.
const kyverno = "bin/e2e/kubectl-kyverno"

// run has the programs of this process.
var run *fixture.Fixture

func TestMain(m *testing.M) {
	fixture.Main(m, func(ctx context.Context, f *fixture.Fixture) error {
		run = f
		if err := errors.Join(f.Build(ctx, "polex-audit"), f.StartSigstore(ctx)); err != nil {
			return err
		}
		return f.StartCluster(ctx, cluster.Options{})
	})
}

const policies = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: no-latest}
spec:
  validationFailureAction: Audit
  background: true
  rules:
  - name: check
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: no latest, pattern: {spec: {containers: [{image: "!*:latest"}]}}}
  - name: secrets
    match: {any: [{resources: {kinds: [Secret]}}]}
    validate: {message: no type, pattern: {type: Opaque}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: on-requests}
spec:
  validationFailureAction: Audit
  background: false
  rules:
  - name: check
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: no latest, pattern: {spec: {containers: [{image: "!*:latest"}]}}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: owner}
spec:
  validationActions: [Audit]
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  validations: [{expression: "has(object.metadata.labels) && 'owner' in object.metadata.labels", message: an owner is required}]
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: owner-on-requests}
spec:
  evaluation: {background: {enabled: false}}
  validationActions: [Audit]
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  validations: [{expression: "has(object.metadata.labels) && 'owner' in object.metadata.labels", message: an owner is required}]
`

// The resources: in each namespace a Pod and a ConfigMap of each name. Those with "good" in their name
// obey the policies.
var (
	namespaces = []string{"team-a", "team-b", "team-c"}
	names      = []string{"web-1", "web-2", "api", "good-1", "good-2"}
)

func resources() string {
	var b strings.Builder
	for _, namespace := range namespaces {
		for _, name := range names {
			tag, labels := "latest", ""
			if strings.HasPrefix(name, "good") {
				tag, labels = "1", ", labels: {owner: me}"
			}
			fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: %s}\nspec: {containers: [{name: a, image: 'nginx:%s'}]}\n", name, namespace, tag)
			fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s%s}\n", name, namespace, labels)
		}
	}
	return b.String()
}

// cases are the exceptions: those of kyverno.io have a match, and the others conditions.
var cases = []struct {
	name, namespace, policy string
	rules, match            string // of kyverno.io
	condition               string // of policies.kyverno.io
	rest                    string // of the spec
	want                    usage.State
}{
	{name: "old-used", policy: "no-latest", rules: "check", match: "namespaces: [team-a], names: ['web-*']", want: usage.InUse},
	{name: "old-patterns", policy: "no-latest", rules: "'ch*'", match: "namespaces: ['*-b']", want: usage.InUse},
	{name: "old-partly", policy: "no-latest", rules: "check", match: "namespaces: [team-c]", want: usage.InUse},
	{name: "old-used-by-requests", policy: "on-requests", rules: "check", match: "namespaces: [team-a]", want: usage.InUse},
	{name: "old-idle-place", policy: "no-latest", rules: "check", match: "namespaces: [nobody]", want: usage.Idle},
	{name: "old-idle-name", policy: "no-latest", rules: "check", match: "names: [nothing]", want: usage.Idle},
	{name: "old-idle-pattern", policy: "no-latest", rules: "'c*'", match: "names: [nothing]", want: usage.Idle},
	{name: "old-not-needed", policy: "no-latest", rules: "check", match: "namespaces: [team-c], names: ['good-*']", want: usage.NotNeeded},
	{name: "old-requests", policy: "on-requests", rules: "check", match: "namespaces: [nobody]", want: usage.Unknown},
	{name: "old-background", policy: "no-latest", rules: "check", match: "namespaces: [nobody]", rest: ", background: false", want: usage.Unknown},
	{name: "old-operations", policy: "no-latest", rules: "check", match: "namespaces: [nobody], operations: [DELETE]", want: usage.Unknown},
	{name: "old-two-rules", policy: "no-latest", rules: "check, secrets", match: "namespaces: [nobody]", want: usage.Unknown},
	{name: "twice", namespace: "team-a", policy: "no-latest", rules: "check", match: "namespaces: [team-a], names: [api]", want: usage.InUse},
	{name: "twice", namespace: "team-b", policy: "no-latest", rules: "check", match: "namespaces: [team-b], names: [nothing]", want: usage.Idle},
	{name: "new-used", policy: "owner", condition: "object.metadata.namespace == 'team-a'", want: usage.InUse},
	{name: "new-name", policy: "owner", condition: "object.metadata.name.startsWith('web-') && object.metadata.namespace == 'team-b'", want: usage.InUse},
	{name: "new-passing", policy: "owner", condition: "object.metadata.name == 'good-1'", rest: ", reportResult: pass", want: usage.NotNeeded},
	{name: "new-idle", policy: "owner", condition: "object.metadata.namespace == 'nobody'", want: usage.Idle},
	{name: "new-not-needed", policy: "owner", condition: "object.metadata.namespace == 'team-c' && object.metadata.name.startsWith('good')", want: usage.NotNeeded},
	{name: "new-requests", policy: "owner-on-requests", condition: "object.metadata.namespace == 'nobody'", want: usage.Unknown},
	{name: "new-operation", policy: "owner", condition: "request.operation == 'DELETE' && object.metadata.namespace == 'team-a'", want: usage.Unknown},
	{name: "new-values", policy: "owner", condition: "object.metadata.namespace == 'team-c' && object.metadata.name == 'api'", rest: ", allowedValues: [a]", want: usage.Unknown},
}

// drafts returns the exceptions, with their names as [usage] and the report have them.
func drafts() (texts, objects []string) {
	for _, c := range cases {
		namespace := c.namespace
		if namespace == "" {
			namespace = "platform"
		}
		metadata := fmt.Sprintf("metadata:\n  name: %s\n  namespace: %s\n  annotations: {polex.dev/reason: test}\n", c.name, namespace)
		if c.condition == "" {
			texts = append(texts, fmt.Sprintf("apiVersion: kyverno.io/v2\nkind: PolicyException\n%sspec: {exceptions: [{policyName: %s, ruleNames: [%s]}], match: {any: [{resources: {kinds: [Pod], %s}}]}%s}\n", strings.Replace(metadata, "annotations: {", "annotations: {polex.dev/expires-in: 30d, ", 1), c.policy, c.rules, c.match, c.rest))
			objects = append(objects, "PolicyException.kyverno.io "+namespace+"/"+c.name)
			continue
		}
		texts = append(texts, fmt.Sprintf("apiVersion: policies.kyverno.io/v1\nkind: PolicyException\n%sspec: {policyRefs: [{name: %s, kind: ValidatingPolicy}], matchConditions: [{name: a, expression: %q}]%s}\n", strings.Replace(metadata, "annotations: {", "annotations: {polex.dev/expires-in: 30d, ", 1), c.policy, c.condition, c.rest))
		objects = append(objects, "PolicyException.policies.kyverno.io "+namespace+"/"+c.name)
	}
	return texts, objects
}

// entry is a part of the report.
type entry struct {
	Object string
	Usage  *usage.Usage
}

// audit runs polex-audit and returns the usages by object.
func audit(ctx context.Context, dir string, args ...string) (map[string]usage.Usage, error) {
	command := exec.CommandContext(ctx, filepath.Join(run.Folder, "polex-audit"), append([]string{"--config", "trust.yaml", "-o", "json"}, args...)...)
	command.Dir = dir
	out, err := command.Output()
	var status *exec.ExitError
	if errors.As(err, &status) && status.ExitCode() != 1 {
		return nil, fmt.Errorf("%w: %s", err, status.Stderr)
	}
	var report struct{ Entries []entry }
	if err := json.Unmarshal(out, &report); err != nil {
		return nil, err
	}
	usages := map[string]usage.Usage{}
	for _, e := range report.Entries {
		if e.Usage != nil {
			usages[e.Object] = *e.Usage
		}
	}
	return usages, nil
}

// repository signs drafts in a repository with a trust policy for polex-audit.
func repository(t *testing.T, drafts ...string) (dir string, signed []*exception.Document) {
	t.Helper()
	signed = must.Get(sandboxtest.Sign(t.Context(), run.Sigstore, sandbox.Identity{}, time.Now(), drafts...))(t)
	dir = t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "signed"), 0o755))
	for i, doc := range signed {
		must.Do(t, os.WriteFile(filepath.Join(dir, "signed", fmt.Sprintf("%d.yaml", i)), doc.Source(), 0o600))
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "signed"}, {"-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "-m", "Sign"}} {
		git := exec.CommandContext(t.Context(), "git", args...)
		git.Dir = dir
		must.Run(t, git)
	}
	config := fmt.Sprintf("apiVersion: polex.dev/v1alpha1\nkind: Config\ntrust:\n  trustedRoot: %s\n  authorities: [{name: a, issuer: %q, subject: '%s'}]\n",
		run.Sigstore.TrustedRootPath, run.Sigstore.IssuerURL, sandbox.Identity{}.Subject())
	must.Do(t, os.WriteFile(filepath.Join(dir, "trust.yaml"), []byte(config), 0o600))
	return dir, signed
}

// TestUsage: from Kyverno's own reports, polex says which exceptions are in use, idle or unknown, and with
// Kyverno's command line which are not needed. For each exception, the resources are those that the command
// line exempts.
func TestUsage(t *testing.T) {
	ctx, live := t.Context(), run.Cluster
	texts, objects := drafts()
	dir, signed := repository(t, texts...)
	for _, namespace := range append([]string{"platform"}, namespaces...) {
		must.Do(t, live.CreateNamespace(ctx, namespace))
	}
	for _, doc := range signed {
		must.Do(t, live.ApplyAll(ctx, doc.Source()))
	}
	must.Do(t, live.ApplyAll(ctx, []byte(policies)))
	must.Do(t, live.ApplyAll(ctx, []byte(resources())))
	must.Do(t, os.WriteFile(filepath.Join(dir, "policies.yaml"), []byte(policies), 0o600))
	must.Do(t, os.WriteFile(filepath.Join(dir, "resources.yaml"), []byte(resources()), 0o600))

	must.Do(t, live.StartReportsController(context.Background(), cluster.Controller{}))
	want := map[string]usage.Usage{}
	for i, c := range cases {
		u := usage.Usage{State: c.want}
		if c.want != usage.Unknown {
			exempt := exemptBy(t, dir, c.name, texts[i])
			u.Resources, u.First = len(exempt), exempt[:min(len(exempt), 5)]
		}
		want[objects[i]] = u
	}
	step(t, "wgpolicyk8s.io", func(t *testing.T) { usagesAre(t, dir, want) })
	must.Do(t, live.Kill("reports-controller"))
	servesOpenReports(t)
	for _, namespace := range namespaces {
		_, err := live.Do(ctx, cluster.Request{Method: http.MethodDelete, Path: "/apis/wgpolicyk8s.io/v1alpha2/namespaces/" + namespace + "/policyreports"})
		must.Do(t, err)
	}
	must.Do(t, live.StartReportsController(context.Background(), cluster.Controller{Args: []string{"--openreportsEnabled=true"}}))
	// Kyverno keeps results of requests only in its reports, which are new.
	want["PolicyException.kyverno.io platform/old-used-by-requests"] = usage.Usage{State: usage.Unknown}
	step(t, "openreports.io", func(t *testing.T) { usagesAre(t, dir, want) })
}

func step(t *testing.T, name string, do func(*testing.T)) {
	if !t.Run(name, do) {
		t.FailNow()
	}
}

// usagesAre waits until the audit has the wanted usage of every exception.
func usagesAre(t *testing.T, dir string, want map[string]usage.Usage) {
	arguments := []string{"--kubeconfig", run.Cluster.Kubeconfig(), "--policies", "policies.yaml", "--kyverno-cli", fixture.FromRoot(kyverno)}
	fixture.Until(t, run.Cluster, waitLimit, "the reports", func(ctx context.Context) error {
		usages, err := audit(ctx, dir, arguments...)
		if err != nil {
			return err
		}
		got := map[string]usage.Usage{}
		for object, u := range usages {
			if got[object] = (usage.Usage{State: u.State}); u.State == usage.Unknown {
				continue
			}
			got[object] = usage.Usage{State: u.State, Resources: u.Resources, First: u.First}
			if u.KnownSince.IsZero() {
				return fmt.Errorf("%s: it is not known since when", object)
			}
		}
		diff := cmp.Diff(want, got, cmpopts.EquateEmpty())
		return expect.Unless(diff == "", "%s", diff)
	})
	t.Logf("%d pairs of exception and resource agree", len(cases)*len(namespaces)*len(names))
}

// exemptBy returns the resources that Kyverno's command line exempts because of one exception.
func exemptBy(t *testing.T, dir, name, text string) (resources []string) {
	t.Helper()
	must.Do(t, os.WriteFile(filepath.Join(dir, "exception.yaml"), []byte(text), 0o600))
	command := exec.CommandContext(t.Context(), fixture.FromRoot(kyverno), "apply", "policies.yaml", "--resource", "resources.yaml", "--exception", "exception.yaml", "--policy-report", "--output-format", "json")
	command.Dir = dir
	out, _ := command.Output() // other resources fail
	var report usage.Report
	at := bytes.Index(out, []byte("\n{")) + 1
	must.Do(t, json.NewDecoder(bytes.NewReader(out[at:])).Decode(&report))
	for _, result := range report.Results {
		for _, r := range result.Resources {
			if result.Properties.Exceptions == name && !slices.Contains(resources, r.String()) {
				resources = append(resources, r.String())
			}
		}
	}
	slices.Sort(resources)
	return resources
}

// servesOpenReports installs the reports of openreports.io.
func servesOpenReports(t *testing.T) {
	t.Helper()
	source := must.Get(servers.Source(t.Context(), fixture.FromRoot("test/e2e/tools/kyverno"), "github.com/openreports/reports-api"))(t)
	for _, kind := range []string{"reports", "clusterreports"} {
		text := must.Get(os.ReadFile(filepath.Join(source, "config", "crd", "openreports.io_"+kind+".yaml")))(t)
		must.Do(t, run.Cluster.ApplyAll(t.Context(), text))
		must.Do(t, run.Cluster.Until(t.Context(), kind, func(ctx context.Context) error {
			return cluster.OK(run.Cluster.Get(ctx, "/apis/openreports.io/v1alpha1/"+kind))
		}))
	}
}
