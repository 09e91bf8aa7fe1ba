//go:build e2e

package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

const (
	secretName = "polex-guard-certificate"
	secrets    = "/api/v1/namespaces/default/secrets"
)

// TestSelfManagedCertificate: a guard that makes its own certificate tells the API
// server, and is asked.
func TestSelfManagedCertificate(t *testing.T) {
	do(t, cluster.Request{Method: http.MethodPost, Path: secrets, Body: fmt.Appendf(nil, "{apiVersion: v1, kind: Secret, metadata: {name: %s}}", secretName)}).want(t, http.StatusCreated)
	t.Cleanup(func() {
		_, _ = live.Do(context.Background(), cluster.Request{Method: http.MethodDelete, Path: secrets + "/" + secretName})
	})
	nobody := &instance{webhook: "127.0.0.1:1"}
	do(t, cluster.Request{Method: http.MethodPost, Path: webhooks, Body: []byte(nobody.registration("localhost"))}).want(t, http.StatusCreated)
	t.Cleanup(func() { unregister(t) })
	i := settings{itself: true}.run(t)
	do(t, cluster.Request{Method: http.MethodPatch, Path: webhooks + "/polex-guard", ContentType: "application/json-patch+json",
		Body: fmt.Appendf(nil, `[{"op":"replace","path":"/webhooks/0/clientConfig/url","value":"https://localhost%s/admit"}]`, i.webhook[len("127.0.0.1"):])}).want(t, http.StatusOK)
	i.asked(t)
}

// mount writes the Secret's data where the guard reads it, as kubelet would.
func (i *instance) mount(t *testing.T) {
	t.Helper()
	i.until(t, "the guard to make a certificate", func(ctx context.Context) error {
		answer, err := live.Do(ctx, cluster.Request{Method: http.MethodGet, Path: secrets + "/" + secretName})
		if err != nil {
			return err
		}
		var secret struct{ Data map[string][]byte }
		if err := decodeAnswer(answer, &secret); err != nil {
			return err
		}
		if len(secret.Data["tls.crt"]) == 0 {
			return errors.New("there is none")
		}
		for name, text := range secret.Data {
			if err := os.WriteFile(filepath.Join(i.dir, name), text, 0o600); err != nil {
				return err
			}
		}
		return nil
	})
}
