//go:build e2e

package guard

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

const (
	secretName = "polex-guard-certificate"
	secrets    = "/api/v1/namespaces/default/secrets"

	certificateSecret = secrets + "/" + secretName
)

// TestSelfManagedCertificate: a guard that makes its own certificate registers it, and the API
// server calls the guard.
func TestSelfManagedCertificate(t *testing.T) { runSelfManaged(t) }

// runSelfManaged starts a guard that keeps its certificate in a Secret, and waits until the API
// server calls it.
func runSelfManaged(t *testing.T) *instance {
	t.Helper()
	do(t, cluster.Request{Method: http.MethodPost, Path: secrets, Body: fmt.Appendf(nil, "{apiVersion: v1, kind: Secret, metadata: {name: %s}}", secretName)}).want(t, http.StatusCreated)
	t.Cleanup(func() {
		_, _ = live.Do(context.Background(), cluster.Request{Method: http.MethodDelete, Path: certificateSecret})
	})
	nobody := &instance{webhook: "127.0.0.1:1"}
	do(t, cluster.Request{Method: http.MethodPost, Path: webhooks, Body: []byte(nobody.registration("localhost"))}).want(t, http.StatusCreated)
	t.Cleanup(func() { unregister(t) })
	i := settings{itself: true}.run(t)
	patched(t, webhooks+"/polex-guard", "replace", "/webhooks/0/clientConfig/url", `"https://localhost`+i.webhook[len("127.0.0.1"):]+`/admit"`)
	i.asked(t)
	return i
}
