package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// mayEverything gives Kyverno every right, because its own roles need the aggregation of Kubernetes.
const mayEverything = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: e2e-kyverno}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin},
subjects: [{kind: ServiceAccount, namespace: kyverno, name: kyverno-admission-controller}]}`

// kyvernoKubeconfig returns the path of Kyverno's kubeconfig.
func (c *Cluster) kyvernoKubeconfig(ctx context.Context) (string, error) {
	if !c.options.KyvernoAccount {
		return c.Kubeconfig(), nil
	}
	answer, err := c.Do(ctx, Request{Method: http.MethodPost, Path: collections["ClusterRoleBinding"], Body: []byte(mayEverything)})
	if err == nil {
		err = answer.expect(http.StatusCreated)
	}
	if err != nil {
		return "", err
	}
	file := filepath.Join(c.options.Dir, "kyverno.kubeconfig")
	return file, c.KubeconfigOf(ctx, "kyverno", "kyverno-admission-controller", file)
}

// startKyverno runs the admission controller outside of the cluster.
func (c *Cluster) startKyverno(ctx, within context.Context) error {
	free, err := servers.FreePorts(2)
	if err != nil {
		return err
	}
	kubeconfig, err := c.kyvernoKubeconfig(within)
	if err != nil {
		return err
	}
	c.kyvernoMetrics = fmt.Sprintf("http://127.0.0.1:%d/metrics", free[1])
	const accounts = "system:serviceaccount:kyverno:"
	if err := c.Run(ctx, servers.Command{
		Program: Kyverno,
		Args: []string{
			"--kubeconfig=" + kubeconfig,
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
	return c.kyvernoAnswers(within)
}

// kyvernoAnswers waits until Kyverno checks exceptions.
func (c *Cluster) kyvernoAnswers(ctx context.Context) error {
	for _, probe := range probes {
		if err := c.Until(ctx, "Kyverno's webhook", func(ctx context.Context) error {
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

// KillKyverno kills Kyverno and removes its webhooks, which would reject every request.
func (c *Cluster) KillKyverno(ctx context.Context) error {
	if err := c.Kill(Kyverno); err != nil {
		return err
	}
	for _, kind := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
		path := "/apis/admissionregistration.k8s.io/v1/" + kind + "?labelSelector=webhook.kyverno.io/managed-by=kyverno"
		answer, err := c.Do(ctx, Request{Method: http.MethodDelete, Path: path})
		if err == nil {
			err = answer.expect(http.StatusOK)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ReviveKyverno starts Kyverno again, and waits until it checks exceptions.
func (c *Cluster) ReviveKyverno(ctx context.Context) error {
	if err := c.Revive(context.WithoutCancel(ctx), Kyverno); err != nil {
		return err
	}
	return c.kyvernoAnswers(ctx)
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
