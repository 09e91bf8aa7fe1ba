//go:build e2e

package policies

import (
	"bytes"
	"context"
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
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// live is an API server with Kyverno and its controllers, shared by all tests of this process.
var live *cluster.Cluster

func TestMain(m *testing.M) {
	fixture.Main(m, func(ctx context.Context, f *fixture.Fixture) error {
		if err := f.StartCluster(ctx, cluster.Options{}); err != nil {
			return err
		}
		live = f.Cluster
		return startControllers(ctx, f.Folder)
	})
}

// startControllers runs Kyverno's controllers, each with its own ServiceAccount.
func startControllers(ctx context.Context, folder string) error {
	if err := live.InstallRoles(ctx); err != nil {
		return err
	}
	if err := aggregated(ctx); err != nil {
		return err
	}
	background := filepath.Join(folder, "background.kubeconfig")
	if err := live.KubeconfigOf(ctx, "kyverno", "kyverno-background-controller", background); err != nil {
		return err
	}
	if err := live.StartBackgroundController(ctx, cluster.Controller{Kubeconfig: background}); err != nil {
		return err
	}
	cleanup := filepath.Join(folder, "cleanup.kubeconfig")
	if err := live.KubeconfigOf(ctx, "kyverno", "kyverno-cleanup-controller", cleanup); err != nil {
		return err
	}
	return live.StartCleanupController(ctx, cluster.Controller{Kubeconfig: cleanup, Args: []string{"--ttlReconciliationInterval=1s"}})
}

// aggregated waits until Kyverno's roles have rules.
func aggregated(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, role := range []string{"kyverno:background-controller", "kyverno:cleanup-controller"} {
		if err := live.Until(within, "the rules of "+role, func(ctx context.Context) error {
			path := "/apis/rbac.authorization.k8s.io/v1/clusterroles/" + role
			return has(`"policyexceptions"`)(live.Get(ctx, path))
		}); err != nil {
			return err
		}
	}
	return nil
}

// has checks that an answer is a success that contains a text.
func has(text string) func(*cluster.Answer, error) error {
	return func(answer *cluster.Answer, err error) error {
		if err := cluster.OK(answer, err); err != nil {
			return err
		}
		return expect.Unless(bytes.Contains(answer.Body, []byte(text)), "%s", "there is no "+text)
	}
}

// waitLimit is the timeout for expected events; cron has a resolution of minutes.
const waitLimit = 3 * time.Minute

// file returns a file of policies/.
func file(t *testing.T, path string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(fixture.FromRoot("policies/" + path)))(t))
}

// built returns the manifests of a folder of policies.
func built(t *testing.T, dir string) string {
	t.Helper()
	return kustomize(t, fixture.FromRoot("policies/"+dir))
}

func kustomize(t *testing.T, dir string) string {
	t.Helper()
	return must.Output(t, exec.CommandContext(t.Context(), fixture.Kubectl(), "kustomize", dir))
}

// apply applies manifests with kubectl, and rejects unknown fields.
func apply(t *testing.T, manifests string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), fixture.Kubectl(), "apply", "--server-side", "--force-conflicts", "--validate=strict", "--kubeconfig", live.Kubeconfig(), "-f", "-")
	cmd.Stdin = strings.NewReader(manifests)
	must.Run(t, cmd)
}

// withdraw deletes the applied objects.
func withdraw(t *testing.T, manifests string) {
	t.Helper()
	cmd := exec.Command(fixture.Kubectl(), "delete", "--ignore-not-found", "--kubeconfig", live.Kubeconfig(), "-f", "-")
	cmd.Stdin = strings.NewReader(manifests)
	out, err := cmd.CombinedOutput()
	expect.That(t, err == nil, "delete: %v: %s", err, out)
}

// until repeats a check until it succeeds, within waitLimit.
func until(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	fixture.Until(t, live, waitLimit, what, ask)
}

// isThere returns an error unless an object exists, or does not exist.
func isThere(ctx context.Context, path string, there bool) error {
	return fixture.Exists(ctx, live, path, there)
}

// served are the versions of PolicyException that the API server serves.
var served = []cluster.Target{
	{Group: exception.KyvernoGroup, Version: "v2", Namespace: "default"}, {Group: exception.KyvernoGroup, Version: "v2beta1", Namespace: "default"},
	{Group: exception.PoliciesGroup, Version: "v1", Namespace: "default"}, {Group: exception.PoliciesGroup, Version: "v1beta1", Namespace: "default"},
	{Group: exception.PoliciesGroup, Version: "v1alpha1", Namespace: "default"},
}

// groups are one version of each API group.
var groups = []cluster.Target{served[0], served[2]}

// exceptionOf returns an exception with an expiry, in the form of its group.
func exceptionOf(target cluster.Target, name, end string) string {
	head := fmt.Sprintf("apiVersion: %s/%s\nkind: PolicyException\n", target.Group, target.Version)
	if target.Group == exception.PoliciesGroup {
		if end != "" {
			end = fmt.Sprintf("  expiresAt: %q\n", end)
		}
		return head + fmt.Sprintf("metadata: {name: %s, namespace: %s}\nspec:\n%s", name, target.Namespace, end) + `  policyRefs: [{name: require-probes, kind: ValidatingPolicy}]
  matchConditions: [{name: web, expression: object.metadata.name == 'web'}]
`
	}
	return head + annotated(target, name, end) + `spec:
  exceptions: [{policyName: require-probes, ruleNames: [check]}]
  match: {any: [{resources: {kinds: [Pod], names: [web-*], namespaces: [team-a]}}]}
`
}

func annotated(target cluster.Target, name, end string) string {
	annotations := ""
	if end != "" {
		annotations = fmt.Sprintf(", annotations: {%s: %q}", exception.AnnotationExpiresAt, end)
	}
	return fmt.Sprintf("metadata: {name: %s, namespace: %s%s}\n", name, target.Namespace, annotations)
}

// store creates an exception, and deletes it after the test.
func store(t *testing.T, target cluster.Target, name, end string) {
	t.Helper()
	must.Do(t, cluster.OK(live.Create(t.Context(), target, []byte(exceptionOf(target, name, end)))))
	t.Cleanup(func() { _, _ = live.Delete(context.Background(), target.Path(name)) })
}

// person is a user.
type person struct {
	name   string
	groups []string
}

// creates creates an exception in a dry run.
func (p person) creates(ctx context.Context, target cluster.Target) (*cluster.Answer, error) {
	return live.Do(ctx, cluster.Request{
		Method: http.MethodPost, Path: target.Path("") + "?dryRun=All&fieldValidation=Strict",
		Body: []byte(exceptionOf(target, "tried", "2030-01-01T00:00:00Z")), As: p.name, Groups: p.groups,
	})
}

// account returns a ServiceAccount as a user.
func account(namespace, name string) person {
	return person{strings.Join([]string{"system:serviceaccount", namespace, name}, ":"), []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}}
}
