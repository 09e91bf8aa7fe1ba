//go:build e2e

package guard

import (
	"context"
	"net/http"
	"os"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// TestReload: a new configuration counts without a restart, and nonsense leaves
// the old one in place and says so.
func TestReload(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	ns := namespace(t)
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}
	sealed := seal(t, draft{name: "a", namespace: ns}.legacy("v2"))[0]
	dryRun := func(ctx context.Context) (*cluster.Answer, error) { return live.DryRun(ctx, target, []byte(sealed)) }
	if answer, err := dryRun(t.Context()); err != nil || !answer.OK() {
		t.Fatal(err, answer)
	}

	i.configure(t, "  namespaces: [elsewhere]\n")
	i.until(t, "the new configuration to count", func(ctx context.Context) error {
		answer, err := dryRun(ctx)
		if err == nil {
			err = refused(answer, "namespace-not-allowed")
		}
		return err
	})
	if err := os.WriteFile(i.config, []byte("nonsense: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	i.until(t, "nonsense to be told", func(ctx context.Context) error {
		return i.measures(ctx, "polex_guard_config_last_reload_successful 0")
	})
	i.until(t, "an Event", func(ctx context.Context) error {
		return contains(ctx, "/apis/events.k8s.io/v1/namespaces/default/events", `"reason":"ConfigurationRefused"`)
	})
	create(t, target, sealed).refusedFor(t, "namespace-not-allowed")

	i.configure(t, "  maxPerNamespace: 1\n")
	i.until(t, "the mended one to count", func(ctx context.Context) error {
		return i.measures(ctx, "polex_guard_config_last_reload_successful 1")
	})
	create(t, target, sealed).want(t, http.StatusCreated)
	i.until(t, "the limit to be reached", func(ctx context.Context) error {
		answer, err := live.DryRun(ctx, target, []byte(seal(t, draft{name: "b", namespace: ns}.legacy("v2"))[0]))
		if err == nil {
			err = refused(answer, "too-many")
		}
		return err
	})

	// Another certificate, for the same requests.
	i.bundle = certify(t, i.dir)
	unregister(t)
	i.register(t)
}
