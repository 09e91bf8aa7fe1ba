package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// KubeconfigOf writes a kubeconfig for a ServiceAccount with its permissions. It is valid for a
// month.
func (c *Cluster) KubeconfigOf(ctx context.Context, namespace, account, file string) error {
	answer, err := c.Do(ctx, Request{
		Method: http.MethodPost, Path: fmt.Sprintf("/api/v1/namespaces/%s/serviceaccounts/%s/token", namespace, account),
		Body: []byte("{apiVersion: authentication.k8s.io/v1, kind: TokenRequest, spec: {expirationSeconds: 2592000}}"),
	})
	if err != nil {
		return err
	}
	if err := answer.expect(http.StatusCreated); err != nil {
		return fmt.Errorf("ask for a token of %s/%s: %w", namespace, account, err)
	}
	var made struct{ Status struct{ Token string } }
	if err := json.Unmarshal(answer.Body, &made); err != nil {
		return fmt.Errorf("read the token of %s/%s: %w", namespace, account, err)
	}
	return write(file, c.kubeconfig(made.Status.Token))
}
