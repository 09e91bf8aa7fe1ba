package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
)

// aggregator is the controller that puts the rules of roles with a label together.
const aggregator = "clusterrole-aggregation-controller"

// InstallRoles creates the roles that Kyverno's own manifests give to its controllers
// and to people, and has Kubernetes put together those that are made of others.
func (c *Cluster) InstallRoles(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	source, err := KyvernoSource(within, c.options.Tools)
	if err != nil {
		return err
	}
	for _, kind := range []string{"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"} {
		if err := c.createAll(within, filepath.Join(source, "config", "install-latest-testing.yaml"), kind); err != nil {
			return err
		}
	}
	return c.StartControllers(ctx, aggregator)
}

// KubeconfigOf writes a file that says how to reach the API server as a ServiceAccount
// of the namespace kyverno, and returns its path.
func (c *Cluster) KubeconfigOf(ctx context.Context, account string) (string, error) {
	answer, err := c.Do(ctx, Request{
		Method: http.MethodPost, Path: "/api/v1/namespaces/kyverno/serviceaccounts/" + account + "/token",
		Body: []byte(`{apiVersion: authentication.k8s.io/v1, kind: TokenRequest, spec: {expirationSeconds: 7200}}`),
	})
	if err != nil {
		return "", err
	}
	if err := answer.expect(http.StatusCreated); err != nil {
		return "", fmt.Errorf("get a token for %s: %w", account, err)
	}
	var made struct{ Status struct{ Token string } }
	if err := json.Unmarshal(answer.Body, &made); err != nil {
		return "", err
	}
	if made.Status.Token == "" {
		return "", errors.New("the token for " + account + " is empty")
	}
	as := *c.Client
	as.token = made.Status.Token
	path := filepath.Join(c.options.Dir, account+".kubeconfig")
	return path, write(path, as.kubeconfig())
}
