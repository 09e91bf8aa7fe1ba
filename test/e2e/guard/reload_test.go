//go:build e2e

package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/must"
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
		return refuses("namespace-not-allowed")(dryRun(ctx))
	})
	good := must.Get(os.ReadFile(i.config))(t)
	for name, nonsense := range map[string]string{
		"nothing":                  "",
		"no YAML":                  "nonsense: [",
		"nobody":                   "apiVersion: polex.dev/v1alpha1\nkind: Config\ntrust: {maxLifetime: 90d}\n",
		"a field too many":         string(good) + "  nonsense: true\n",
		"a root that is not there": strings.Replace(string(good), box.TrustedRootPath, box.TrustedRootPath+".none", 1),
	} {
		must.Do(t, os.WriteFile(i.config, []byte(nonsense), 0o600))
		i.until(t, name+" to be told", i.measures(`polex_guard_config_last_reload_successful{file="config"} 0`))
		create(t, target, sealed).refusedFor(t, "namespace-not-allowed")
		i.configure(t, "  namespaces: [elsewhere]\n")
		i.until(t, "the mended one to count", i.measures(`polex_guard_config_last_reload_successful{file="config"} 1`))
	}
	i.until(t, "an Event", contains(eventsOf("default"), `"reason":"ConfigurationRefused"`))

	i.configure(t, "  maxPerNamespace: 1\n")
	i.until(t, "the new one to count", func(ctx context.Context) error {
		answer, err := live.Create(ctx, target, []byte(sealed))
		if err == nil && answer.Code != http.StatusCreated {
			err = errors.New(answer.Message())
		}
		return err
	})
	i.until(t, "the limit to be reached", func(ctx context.Context) error {
		return refuses("too-many")(live.DryRun(ctx, target, []byte(seal(t, draft{name: "b",
			namespace: ns}.legacy("v2"))[0])))
	})

	// Another certificate for the same requests.
	i.bundle = certify(t, i.dir)
	unregister(t)
	i.register(t)
}

// TestKubeconfigRenewed: a kubeconfig with a client certificate that is renewed in time needs no
// restart. The guard measures the expiry of the certificate, reports a file that it cannot use, and
// deletes an exception that expires after the first certificate.
func TestKubeconfigRenewed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	writes := func(text string) {
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	}
	certified := func(expires time.Time) string {
		return must.Get(live.CertifiedKubeconfig(expires))(t)
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
		i.until(t, what, i.measures(line))
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
	i.until(t, "an Event", contains(eventsOf("default"), "--kubeconfig: "))

	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: namespace(t)}
	short := time.Now().Add(20 * time.Second)
	writes(certified(short))
	measures("the expiry of a short certificate", expiry(short))
	create(t, target, seal(t, draft{name: "a", namespace: target.Namespace, lives: 25 * time.Second}.legacy("v2"))[0]).want(t, http.StatusCreated)
	writes(certified(second))
	measures("the expiry of its successor", expiry(second))
	i.until(t, "the exception to be deleted", noneAt(target))
	if !time.Now().After(short) {
		t.Error("the short certificate has not expired")
	}
}
