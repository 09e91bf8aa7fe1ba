//go:build e2e

package guard

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// TestKubeconfigRenewed: a kubeconfig with a client certificate that is renewed in time needs no
// restart. The guard measures the expiry of the certificate, reports a file that it cannot use, and
// deletes an exception that expires after the first certificate.
func TestKubeconfigRenewed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	writes := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	certified := func(expires time.Time) string {
		text, err := live.CertifiedKubeconfig(expires)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	expiry := func(at time.Time) string {
		return fmt.Sprintf(`polex_guard_certificate_expiry_timestamp_seconds{file="kubeconfig"} %v`, float64(at.Unix()))
	}
	first, second := time.Now().Add(time.Hour), time.Now().Add(365*24*time.Hour)
	writes(certified(first))
	i := settings{kubeconfig: file}.run(t)
	i.register(t)
	measures := func(what, line string) {
		t.Helper()
		i.until(t, what, func(ctx context.Context) error { return i.measures(ctx, line) })
	}
	measures("the expiry of the first certificate", expiry(first))
	const inUse = `polex_guard_config_last_reload_successful{file="kubeconfig"} `
	measures("the first kubeconfig", inUse+"1")
	for name, text := range map[string]string{"nothing": "", "no YAML": "{", "half": certified(second)[:1000]} {
		writes(text)
		measures(name+" to be reported", inUse+"0")
		measures("the first certificate to stay", expiry(first))
		writes(certified(second))
		measures("the new kubeconfig", inUse+"1")
		writes(certified(first))
		measures("the first kubeconfig again", expiry(first))
	}
	i.until(t, "an Event", func(ctx context.Context) error {
		return contains(ctx, "/apis/events.k8s.io/v1/namespaces/default/events", "--kubeconfig: ")
	})

	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: namespace(t)}
	short := time.Now().Add(20 * time.Second)
	writes(certified(short))
	measures("the expiry of a short certificate", expiry(short))
	create(t, target, seal(t, draft{name: "a", namespace: target.Namespace, lives: 25 * time.Second}.legacy("v2"))[0]).want(t, http.StatusCreated)
	writes(certified(second))
	measures("the expiry of its successor", expiry(second))
	i.until(t, "the exception to be deleted", func(ctx context.Context) error { return noneAt(ctx, target) })
	if !time.Now().After(short) {
		t.Error("the short certificate has not expired")
	}
}
