//go:build e2e

package guard

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// TestReload: a new configuration takes effect without a restart. An invalid one changes nothing,
// and the guard reports it.
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
	good, err := os.ReadFile(i.config)
	if err != nil {
		t.Fatal(err)
	}
	for name, nonsense := range map[string]string{
		"nothing":                  "",
		"no YAML":                  "nonsense: [",
		"nobody":                   "apiVersion: polex.dev/v1alpha1\nkind: Config\ntrust: {maxLifetime: 90d}\n",
		"a field too many":         string(good) + "  nonsense: true\n",
		"a root that is not there": strings.Replace(string(good), box.TrustedRootPath, box.TrustedRootPath+".none", 1),
	} {
		if err := os.WriteFile(i.config, []byte(nonsense), 0o600); err != nil {
			t.Fatal(err)
		}
		i.until(t, name+" to be told", func(ctx context.Context) error {
			return i.measures(ctx, `polex_guard_config_last_reload_successful{file="config"} 0`)
		})
		create(t, target, sealed).refusedFor(t, "namespace-not-allowed")
		i.configure(t, "  namespaces: [elsewhere]\n")
		i.until(t, "the mended one to count", func(ctx context.Context) error {
			return i.measures(ctx, `polex_guard_config_last_reload_successful{file="config"} 1`)
		})
	}
	i.until(t, "an Event", func(ctx context.Context) error {
		return contains(ctx, "/apis/events.k8s.io/v1/namespaces/default/events", `"reason":"ConfigurationRefused"`)
	})

	i.configure(t, "  maxPerNamespace: 1\n")
	i.until(t, "the new one to count", func(ctx context.Context) error {
		answer, err := live.Create(ctx, target, []byte(sealed))
		if err == nil && answer.Code != http.StatusCreated {
			err = errors.New(answer.Message())
		}
		return err
	})
	i.until(t, "the limit to be reached", func(ctx context.Context) error {
		answer, err := live.DryRun(ctx, target, []byte(seal(t, draft{name: "b", namespace: ns}.legacy("v2"))[0]))
		if err == nil {
			err = refused(answer, "too-many")
		}
		return err
	})

	// Another certificate for the same requests.
	i.bundle = certify(t, i.dir)
	unregister(t)
	i.register(t)
}
