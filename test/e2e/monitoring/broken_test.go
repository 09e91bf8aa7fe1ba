//go:build e2e

package monitoring

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/guard"
	"github.com/polex-dev/polex/test/e2e/servers"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// subject is a running guard whose sources can be broken.
type subject struct {
	*guard.Process
	dir, config, kubeconfig string
}

// TestBrokenSources: while a source of a guard is broken, its metrics, if they go on as they do, make
// the alert of that source fire, and no other. Before and afterwards none fires.
func TestBrokenSources(t *testing.T) {
	s := watched(t)
	s.until(t, "the first check", "polex_guard_last_recheck_timestamp_seconds 1")
	s.fires(t, "nothing is broken")
	for _, tc := range []struct {
		name   string
		breaks func(*testing.T)
		shows  string // a metric that shows it, as the beginning of a line
		mends  func(*testing.T)
		whole  string // a metric that shows that it is mended
		alerts []string
	}{
		{
			name: "an invalid configuration", shows: inUse("config", 0), whole: inUse("config", 1), alerts: []string{"PolexConfigurationRefused config"},
			breaks: func(t *testing.T) { write(t, s.config, "nonsense: [") }, mends: s.configures,
		},
		{
			name: "no trusted root", shows: inUse("config", 0), whole: inUse("config", 1), alerts: []string{"PolexConfigurationRefused config"},
			breaks: func(t *testing.T) {
				write(t, s.config, strings.Replace(string(readFrom(t, s.config)), box.TrustedRootPath, box.TrustedRootPath+".none", 1))
			}, mends: s.configures,
		},
		{
			name: "an invalid kubeconfig", shows: inUse("kubeconfig", 0), whole: inUse("kubeconfig", 1), alerts: []string{"PolexConfigurationRefused kubeconfig"},
			breaks: func(t *testing.T) { write(t, s.kubeconfig, "") }, mends: s.connects(90),
		},
		{
			name: "a client certificate that nobody renews", shows: expiry("kubeconfig", 10), whole: expiry("kubeconfig", 90),
			alerts: []string{"PolexGuardCertificateEnds kubeconfig"}, breaks: s.connects(10), mends: s.connects(90),
		},
		{
			name: "a certificate that nobody renews", shows: expiry("tls-cert", 10), whole: expiry("tls-cert", 90),
			alerts: []string{"PolexGuardCertificateEnds tls-cert"}, breaks: s.certifies(10), mends: s.certifies(90),
		},
		{
			name: "credentials without rights", shows: "polex_guard_leader 0", whole: "polex_guard_leader 1", alerts: []string{"PolexGuardRecheckStale", "PolexGuardWithoutLeader"},
			breaks: func(t *testing.T) {
				kubectl(t, "", "create", "serviceaccount", "nobody", "--namespace", "default")
				must.Do(t, live.KubeconfigOf(t.Context(), "default", "nobody", s.kubeconfig))
			}, mends: s.connects(90),
		},
		{
			name: "the Lease of somebody else", shows: "polex_guard_leader 0", whole: "polex_guard_leader 1", alerts: []string{"PolexGuardRecheckStale", "PolexGuardWithoutLeader"},
			breaks: func(t *testing.T) {
				kubectl(t, "", "patch", "lease", "polex-guard", "--namespace", "default", "--type=merge", "--patch", `{"spec":{"holderIdentity":"somebody"}}`)
			}, mends: func(*testing.T) {},
		},
		{
			name: "an unsigned exception", shows: unverified + "1", alerts: []string{"PolexUnverifiedPresent"},
			breaks: func(t *testing.T) {
				kubectl(t, strings.ReplaceAll(request("unsigned", "2w"), "platform", "broken"), "create", "-f", "-")
			},
			mends: func(t *testing.T) {
				kubectl(t, "", "delete", "policyexceptions.kyverno.io", "unsigned", "--namespace", "broken")
			}, whole: "polex_guard_next_expiry_seconds NaN",
		},
		{
			name: "an exception that cannot be deleted", shows: "polex_guard_next_expiry_seconds -", whole: "polex_guard_next_expiry_seconds NaN", alerts: []string{"PolexExpiredPresent"},
			breaks: func(t *testing.T) {
				kubectl(t, undeletable, "create", "-f", "-")
				draft := strings.ReplaceAll(request("expired", "15s"), "platform", "broken")
				kubectl(t, sandboxtest.Files(t, box, sandbox.Identity{}, time.Now(), draft)[0], "create", "-f", "-")
				until(t, "the policy to count", func(ctx context.Context) error {
					out, err := program(t, folder, "", fixture.Kubectl(), "delete", "--dry-run=server", "policyexceptions.kyverno.io", "expired", "--namespace", "broken", "--kubeconfig", live.Kubeconfig())
					return expect.Unless(err != nil, "%s", out)
				})
			}, mends: func(t *testing.T) { kubectl(t, undeletable, "delete", "-f", "-") },
		},
	} {
		t.Run(strings.ReplaceAll(tc.name, " ", "-"), func(t *testing.T) {
			tc.breaks(t)
			s.until(t, tc.name, tc.shows)
			s.fires(t, tc.name, tc.alerts...)
			tc.mends(t)
			s.until(t, "it to be mended", tc.whole)
		})
	}
	s.fires(t, "everything is mended")
	s.Stop()
	evaluate(t, "no guard runs", nil, "PolexGuardDown")
}

const (
	unverified = `polex_guard_exceptions{kind="PolicyException.kyverno.io",reason="unsigned"} `
	// undeletable keeps exceptions.
	undeletable = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: undeletable}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [kyverno.io], apiVersions: ["*"], operations: [DELETE], resources: [policyexceptions]}]}
  validations: [{expression: "false"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: undeletable}
spec: {policyName: undeletable, validationActions: [Deny]}
`
)

func inUse(file string, yes int) string {
	return fmt.Sprintf("polex_guard_config_last_reload_successful{file=%q} %d", file, yes)
}

// today is the day from which the certificates of this test count.
var today = time.Now()

func expires(days int) time.Time { return today.Add(time.Duration(days) * 24 * time.Hour) }

func expiry(file string, days int) string {
	return fmt.Sprintf("polex_guard_certificate_expiry_timestamp_seconds{file=%q} %v", file, float64(expires(days).Unix()))
}

// watched starts a guard that checks every second.
func watched(t *testing.T) *subject {
	t.Helper()
	dir := t.TempDir()
	s := &subject{dir: dir, config: filepath.Join(dir, "config.yaml"), kubeconfig: filepath.Join(dir, "kubeconfig")}
	s.configures(t)
	s.connects(90)(t)
	s.certifies(90)(t)
	kubectl(t, "", "create", "namespace", "broken")
	var err error
	if s.Process, err = guard.Start(context.Background(), guard.Options{Binaries: folder, Dir: dir, Config: s.config, Kubeconfig: s.kubeconfig,
		Flags: []string{"--recheck-interval", "1s"}}); err != nil {
		t.Fatal(err)
	}
	fixture.StopAfter(t, s)
	must.Do(t, s.Ready(t.Context()))
	return s
}

func (s *subject) configures(t *testing.T) { write(t, s.config, fixture.TrustPolicy(t, box)) }

func (s *subject) connects(days int) func(*testing.T) {
	return func(t *testing.T) {
		text := must.Get(live.CertifiedKubeconfig(expires(days)))(t)
		write(t, s.kubeconfig, text)
	}
}

func (s *subject) certifies(days int) func(*testing.T) {
	return func(t *testing.T) { must.Get(guard.CertifyUntil(s.dir, expires(days)))(t) }
}

// until waits until a line of the metrics begins with a text.
func (s *subject) until(t *testing.T, what, line string) {
	t.Helper()
	until(t, what, func(ctx context.Context) error {
		text, err := servers.Fetch(ctx, "http://"+s.Metrics+"/metrics")
		if err == nil && !strings.Contains(text, "\n"+line) {
			err = fmt.Errorf("no line begins with %q", line)
		}
		return err
	})
}

// sample is what a guard measured at a time.
type sample struct {
	at     time.Time
	values map[string]float64 // by series
}

func (s *subject) measured(ctx context.Context) (sample, error) {
	text, err := servers.Fetch(ctx, "http://"+s.Metrics+"/metrics")
	m := sample{at: time.Now(), values: map[string]float64{}}
	for line := range strings.Lines(text) {
		series, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		value, invalid := strconv.ParseFloat(number, 64)
		if strings.HasPrefix(series, "polex_guard_") && !strings.Contains(series, "_decision_seconds") && invalid == nil && value == value {
			m.values[series] = value
		}
	}
	return m, err
}

// fires: the alerts that fire if the metrics go on for two hours as they do now. Those of the
// severity info need no action.
func (s *subject) fires(t *testing.T, name string, want ...string) {
	t.Helper()
	first := must.Get(s.measured(t.Context()))(t)
	var last sample
	until(t, "the metrics to go on", func(ctx context.Context) (err error) {
		if last, err = s.measured(ctx); err == nil && last.at.Sub(first.at) < 4*time.Second {
			err = errors.New("it is too early for a rate")
		}
		return err
	})
	series := map[string]string{}
	for name, value := range last.values {
		perMinute := 0.0
		if before, there := first.values[name]; there {
			perMinute = (value - before) / last.at.Sub(first.at).Minutes()
		}
		if strings.Contains(name, "_timestamp_seconds") { // promtool's clock starts at 0
			value -= float64(last.at.Unix())
		}
		series[name] = fmt.Sprintf("%s%sx150", strconv.FormatFloat(value, 'f', 3, 64), signed(perMinute))
	}
	evaluate(t, name, series, want...)
}

func signed(number float64) string {
	text := strconv.FormatFloat(number, 'f', 3, 64)
	if !strings.HasPrefix(text, "-") {
		text = "+" + text
	}
	return text
}

// evaluate asks promtool which alerts fire after two hours of the series.
func evaluate(t *testing.T, name string, series map[string]string, want ...string) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "rule_files: [%q]\nevaluation_interval: 1m\ntests:\n- name: %s\n  interval: 1m\n  input_series:\n  - {series: up, values: 1x150}\n", fixture.FromRoot(alertsFolder+"/rules.yaml"), name)
	for _, s := range slices.Sorted(maps.Keys(series)) {
		fmt.Fprintf(&b, "  - {series: '%s', values: %s}\n", s, series[s])
	}
	b.WriteString("  promql_expr_test:\n  - eval_time: 2h\n    expr: 'count by (alertname, file) (ALERTS{alertstate=\"firing\",severity!=\"info\"})'\n    exp_samples:\n")
	for _, alert := range want {
		alertname, file, _ := strings.Cut(alert, " ")
		labels := fmt.Sprintf("alertname=%q", alertname)
		if file != "" {
			labels += fmt.Sprintf(",file=%q", file)
		}
		fmt.Fprintf(&b, "    - {labels: '{%s}', value: 1}\n", labels)
	}
	file := filepath.Join(t.TempDir(), "test.yaml")
	write(t, file, b.String())
	out, err := program(t, folder, "", fixture.FromRoot(binaries+"/promtool"), "test", "rules", file)
	expect.That(t, err == nil, "%s: %v\n%s\n%s", name, err, out, b.String())
}
