package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// startKyverno runs the admission controller outside of the cluster.
func (c *Cluster) startKyverno(ctx, within context.Context) error {
	free, err := servers.FreePorts(2)
	if err != nil {
		return err
	}
	c.kyvernoMetrics = fmt.Sprintf("http://127.0.0.1:%d/metrics", free[1])
	const accounts = "system:serviceaccount:kyverno:"
	if err := c.Run(ctx, servers.Command{
		Program: "kyverno",
		Args: []string{
			"--kubeconfig=" + c.Kubeconfig(),
			fmt.Sprintf("--serverIP=127.0.0.1:%d", free[0]), "--webhookServerHost=127.0.0.1", fmt.Sprintf("--webhookServerPort=%d", free[0]),
			"--caSecretName=kyverno-ca", "--tlsSecretName=kyverno-tls",
			"--enablePolicyException=true", "--exceptionNamespace=*",
			"--metricsHost=127.0.0.1", fmt.Sprintf("--metricsPort=%d", free[1]), "--controllerRuntimeMetricsAddress=0",
			"--backgroundServiceAccountName=" + accounts + "kyverno-background-controller",
			"--reportsServiceAccountName=" + accounts + "kyverno-reports-controller",
		},
		Env: append([]string{
			"KYVERNO_NAMESPACE=kyverno", "KYVERNO_SERVICEACCOUNT_NAME=kyverno-admission-controller", "KYVERNO_DEPLOYMENT=kyverno-admission-controller",
			"KYVERNO_POD_NAME=kyverno-0", "INIT_CONFIG=kyverno", "METRICS_CONFIG=kyverno-metrics", "POD_IP=127.0.0.1", "KYVERNO_SVC=kyverno-svc",
		}, c.options.KyvernoEnv...),
	}); err != nil {
		return err
	}
	for _, probe := range probes {
		if err := c.Until(within, "Kyverno's webhook", func(ctx context.Context) error {
			answer, err := c.DryRun(ctx, Target{Group: probe.group, Version: probe.version, Namespace: "default"}, []byte(probe.document))
			if err != nil {
				return err
			}
			if answer.OK() || !strings.Contains(answer.Message(), probe.refusal) {
				return fmt.Errorf("%d: %w", answer.Code, errors.New(answer.Message()))
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// probes are exceptions that the API server accepts and Kyverno rejects.
var probes = []struct{ group, version, document, refusal string }{
	{"kyverno.io", "v2", `{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {name: probe}, spec: {exceptions: [], match: {any: [{clusterRoles: [a]}]}}}`, "Usage of user info is forbidden"},
	{"policies.kyverno.io", "v1", `{apiVersion: policies.kyverno.io/v1, kind: PolicyException, metadata: {name: probe}, spec: {policyRefs: []}}`, "must specify at least one policy ref"},
}

// Target is the place of an exception in the API.
type Target struct{ Group, Version, Namespace string }

// Create creates an exception through every webhook.
func (c *Client) Create(ctx context.Context, t Target, document []byte) (*Answer, error) {
	return c.Do(ctx, Request{Method: http.MethodPost, Path: t.Path("") + "?fieldValidation=Strict", Body: document})
}

// Path returns the path of an exception, or of all in the namespace for "".
func (t Target) Path(name string) string {
	all := fmt.Sprintf("/apis/%s/%s/namespaces/%s/policyexceptions", t.Group, t.Version, t.Namespace)
	return strings.TrimSuffix(all+"/"+name, "/")
}

// DryRun creates an exception in a dry run, with every webhook. The API server rejects fields that
// it would drop otherwise.
func (c *Client) DryRun(ctx context.Context, t Target, document []byte) (*Answer, error) {
	return c.Do(ctx, Request{
		Method: http.MethodPost,
		Path:   t.Path("") + "?dryRun=All&fieldValidation=Strict",
		Body:   document,
	})
}

func (c *Client) kubeconfig(token string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: e2e, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: admin, user: {token: %q}}]
contexts: [{name: e2e, context: {cluster: e2e, user: admin}}]
current-context: e2e
`, c.server, c.authority, token)
}
