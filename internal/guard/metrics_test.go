package guard_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

const nextExpiry = "polex_guard_next_expiry_seconds"

// TestNextExpiry: the metric is the next expiry, and not the start of an exception.
func TestNextExpiry(t *testing.T) {
	w := inWorld(t)
	early := now.Add(-time.Minute)
	soon := w.sealed(t, draft("soon", "x", 3*hour, ""), early)
	k := keep(t, nil, w.rules(t, guard.Settings{}, nil), soon,
		w.sealed(t, draft("later", "x", 2*hour, fmt.Sprintf(`, polex.dev/starts-at: "%s"`, now.Add(hour/2).UTC().Format(time.RFC3339))), early))
	k.settles(t, "found soon verified", "found later not-yet-valid", "report [later not-yet-valid soon verified]")
	k.expects(t, 2*hour)

	// An altered exception can state any expiry.
	k.store.put(t, copied(t, soon, func(o object) { o["spec"] = object{} }))
	k.settles(t, "found soon altered")
	k.expects(t, 2*hour)
}

// TestNextExpiryOfWhatStays: an expired exception that cannot be deleted stays the next one, also
// if other objects change.
func TestNextExpiryOfWhatStays(t *testing.T) {
	w := inWorld(t)
	other := w.sealed(t, draft("b", "x", hour, ""), now.Add(-time.Minute))
	k := keep(t, nil, w.rules(t, guard.Settings{}, nil), w.sealed(t, draft("a", "x", 10*time.Second, ""), now.Add(-time.Minute)), other)
	k.settles(t, "found a verified", "found b verified", "report [a verified b verified]")
	k.store.fail = errors.New("etcd is down")
	k.clock.SetTime(now.Add(12 * time.Second))
	k.settles(t, "failed delete PolicyException.kyverno.io x/a: etcd is down", "report [a expired b verified]")
	k.expects(t, -2*time.Second)
	k.store.put(t, copied(t, other, func(o object) { o["spec"] = object{} }))
	k.settles(t, "found b altered")
	k.expects(t, -2*time.Second)

	k.store.put(t, other)
	k.settles(t, "found b verified")
	// The report of b and the next deletion are due at the same time, in any order.
	removed := false
	for told := ""; told != "report [b verified]"; {
		k.clock.Step(time.Second)
		select {
		case told = <-k.told:
			removed = removed || told == "removed a expired"
		case <-time.After(waitLimit):
			t.Fatal("there is no report without a")
		}
	}
	expect.That(t, removed, "nothing is told about the deletion")
	k.idle(t)
	k.expects(t, now.Add(hour).Sub(k.clock.Now()))
}

// TestNextExpiryOfNone: objects of other kinds do not expire, so they are not in the metric.
func TestNextExpiryOfNone(t *testing.T) {
	w := inWorld(t)
	other := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: x, annotations: {polex.dev/expires-at: %q}}\n", now.Add(hour).UTC().Format(time.RFC3339))
	k := keep(t, nil, w.rules(t, guard.Settings{}, func(c *trust.Config) { c.Kinds = []string{"ConfigMap"} }), w.sealed(t, other, now.Add(-time.Minute)))
	k.settles(t, "found a verified", "report [a verified]")
	got := measured(t, k.registry, nextExpiry)
	expect.That(t, math.IsNaN(got), "it is %v", got)
}

// expects expects the next expiry after this duration.
func (k *keeping) expects(t *testing.T, in time.Duration) {
	t.Helper()
	expect.Is(t, "the next end", in.Seconds(), measured(t, k.registry, nextExpiry))
}

// rechecked expects the time of the last check of all objects.
func (k *keeping) rechecked(t *testing.T, at time.Time) {
	t.Helper()
	got := measured(t, k.registry, "polex_guard_last_recheck_timestamp_seconds")
	expect.That(t, got == float64(at.Unix()), "the last recheck was at %v, want %v", got, at.Unix())
}

// TestRefusalsFromZero: the counters of rejections exist before the first one, so that Prometheus sees an increase.
func TestRefusalsFromZero(t *testing.T) {
	registry := prometheus.NewRegistry()
	guard.NewMetrics(registry, time.Now)
	families := must.Get(registry.Gather())(t)
	counted := map[string]bool{}
	for _, family := range families {
		if family.GetName() != "polex_guard_decisions_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			expect.That(t, m.GetCounter().GetValue() == 0 && labels["authority"] == "", "it counts %v", m)
			counted[labels["operation"]+" "+labels["reason"]] = true
		}
	}
	for _, r := range append(guard.Reasons(), verify.Reasons()...) {
		reason := r.Name
		for _, operation := range []string{"CREATE ", "UPDATE "} {
			if stored := reason == guard.ReasonUnreadable || reason == guard.ReasonConversion; counted[operation+reason] == stored {
				t.Errorf("%s%s: counted is %t", operation, reason, counted[operation+reason])
			}
		}
	}
}

// value returns the value of the only series of a metric; NaN without one.
func value(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	families := must.Get(registry.Gather())(t)
	for _, family := range families {
		if family.GetName() == name && len(family.GetMetric()) == 1 {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return math.NaN()
}

// TestDefinitionState: two states have different numbers, and one has the same in each guard, so that
// Prometheus sees a change that happened while no guard ran.
func TestDefinitionState(t *testing.T) {
	numbers := map[float64]bool{}
	for _, state := range []string{"generation 1", "generation 2", "deleted", "generation 1"} {
		registry := prometheus.NewRegistry()
		metrics := guard.NewMetrics(registry, func() time.Time { return now })
		metrics.DefinitionState(exception.GroupKind{Group: exception.KyvernoGroup, Kind: exception.Kind}, state)
		number := value(t, registry, "polex_guard_definition_state")
		expect.That(t, number == math.Trunc(number) && number < 1<<53, "%s: %v is not exact", state, number)
		numbers[number] = true
		expect.Is(t, "its clock", float64(now.Unix()), value(t, registry, "polex_guard_clock_timestamp_seconds"))
	}
	expect.That(t, len(numbers) == 3, "three states have %d numbers", len(numbers))
}

// TestCertifiedUntil: the metric has no value without a certificate, also after there was one. A zero
// time would alert as a certificate that expired long ago.
func TestCertifiedUntil(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics := guard.NewMetrics(registry, func() time.Time { return now })
	for _, end := range []time.Time{{}, now, now.Add(hour), {}} {
		metrics.CertifiedUntil("--kubeconfig", end)
		got, want := value(t, registry, "polex_guard_certificate_expiry_timestamp_seconds"), float64(end.Unix())
		expect.That(t, math.IsNaN(got) == end.IsZero() && (end.IsZero() || got == want), "%s: %v", end, got)
	}
}

// TestReportsMetric: the metric shows that the reports cannot be written, until they can.
func TestReportsMetric(t *testing.T) {
	w := inWorld(t)
	var fail atomic.Bool
	fail.Store(true)
	k := keep(t, func(c *guard.Controller) { c.Tell = unreported{c.Tell.(*keeping), &fail} },
		w.rules(t, guard.Settings{}, nil), w.sealed(t, draft("a", "x", hour, ""), now.Add(-time.Minute)))
	k.settles(t, "found a verified", "failed write the reports: no API")
	expect.Is(t, "last write", 0, value(t, k.registry, "polex_guard_reports_last_write_successful"))
	fail.Store(false)
	k.clock.Step(2 * time.Second)
	k.settles(t, "report [a verified]")
	expect.Is(t, "last write", 1, value(t, k.registry, "polex_guard_reports_last_write_successful"))
	k.Metrics.Leads(false)
	got := value(t, k.registry, "polex_guard_reports_last_write_successful")
	expect.That(t, math.IsNaN(got), "without the Lease it is %v", got)
}

// unreported cannot write reports while fail is set.
type unreported struct {
	*keeping
	fail *atomic.Bool
}

func (u unreported) Report(ctx context.Context, all []*guard.Finding) error {
	if u.fail.Load() {
		return errors.New("no API")
	}
	return u.keeping.Report(ctx, all)
}

func page(t *testing.T) string {
	t.Helper()
	raw := must.Get(os.ReadFile("../../docs/reference/guard.md"))(t)
	return string(raw)
}

// TestDocumentedMetrics: the page documents every metric and no other.
func TestDocumentedMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	guard.NewMetrics(registry, nil)
	descriptions := make(chan *prometheus.Desc)
	go func() { registry.Describe(descriptions); close(descriptions) }()
	names := map[string]bool{}
	for d := range descriptions {
		names[regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1]] = true
	}
	said := map[string]bool{}
	for _, m := range regexp.MustCompile("`(polex_guard_[a-z_]+)").FindAllStringSubmatch(page(t), -1) {
		if said[m[1]] = true; !names[m[1]] {
			t.Errorf("there is no metric %s", m[1])
		}
	}
	for name := range names {
		expect.That(t, said[name], "docs/reference/guard.md does not name %s", name)
	}
}

// TestDocumentedConfigurations: the configurations on the page are valid.
func TestDocumentedConfigurations(t *testing.T) {
	read := 0
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page(t), -1) {
		doc := must.Get(exception.Parse([]byte(block[1]), "guard.md"))(t)
		if doc.Text("kind") != "Config" || doc.GroupKind().Group != "polex.dev" { // a kubeconfig has the kind Config too
			continue
		}
		read++
		config := must.Get(trust.Read(doc, ""))(t)
		var settings guard.Settings
		must.Do(t, doc.Decode(&settings, "guard"))
		_, err := guard.NewRules(config, settings, "x")
		expect.NoError(t, err)
	}
	expect.Is(t, "configurations read", 2, read)
}

// TestReload: with an invalid configuration, the old one stays valid. The error is reported once
// and is in the metrics until the configuration is corrected.
func TestReload(t *testing.T) {
	first, second := inWorld(t).rules(t, guard.Settings{}, nil), inWorld(t).rules(t, guard.Settings{RequireCluster: true}, nil)
	registry := prometheus.NewRegistry()
	metrics := guard.NewMetrics(registry, time.Now)
	var told []string
	var loaded *guard.Rules
	var failed error
	current := &guard.Current{}
	r := &guard.Reloader{
		Flag: "config", Metrics: metrics,
		Read: func() error {
			rules, err := current.Update(func(string) (*guard.Rules, error) { return loaded, failed })
			if rules != nil {
				told = append(told, "changed")
			}
			return err
		},
		Refused: func(err error) { told = append(told, err.Error()) },
	}
	for _, step := range []struct {
		name   string
		loaded *guard.Rules
		failed error
		counts *guard.Rules
		metric float64
		told   []string
	}{
		{"nonsense at start", nil, errors.New("nonsense"), nil, 0, []string{"nonsense"}},
		{"the first", first, nil, first, 1, []string{"changed"}},
		{"nothing new", nil, nil, first, 1, nil},
		{"nonsense", nil, errors.New("nonsense"), first, 0, []string{"nonsense"}},
		{"the same nonsense", nil, errors.New("nonsense"), first, 0, nil},
		{"other nonsense", nil, errors.New("other"), first, 0, []string{"other"}},
		{"the first again", nil, nil, first, 1, nil},
		{"nonsense anew", nil, errors.New("other"), first, 0, []string{"other"}},
		{"the second", second, nil, second, 1, []string{"changed"}},
	} {
		told, loaded, failed = nil, step.loaded, step.failed
		err := r.Once()
		expect.That(t, (err == nil) == (step.failed == nil), "%s: %v", step.name, err)
		expect.That(t, current.Rules() == step.counts, "%s: other rules count", step.name)
		expect.Is(t, step.name+": the metric",
			step.metric, measured(t, registry, "polex_guard_config_last_reload_successful"))
		expect.Equal(t, step.name, step.told, told)
	}
}

// measured returns the value of a metric without labels.
func measured(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	families := must.Get(registry.Gather())(t)
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// TestBadRules: an invalid configuration gives an error and no rules.
func TestBadRules(t *testing.T) {
	w := inWorld(t)
	good := w.rules(t, guard.Settings{}, nil)
	expect.Is(t, "kinds", 2, len(good.Kinds()))
	for name, settings := range map[string]guard.Settings{
		"a negative limit":          {MaxPerNamespace: -1},
		"an empty namespace":        {Namespaces: []string{""}},
		"a pattern that is none":    {Namespaces: []string{"["}},
		"a range of characters":     {Namespaces: []string{"team-[ab]"}},
		"an empty policy to guard":  {GuardPolicies: []string{""}},
		"every policy is the guard": {GuardPolicies: []string{"*"}},
	} {
		_, err := guard.NewRules(w.config(), settings, "x")
		expect.That(t, err != nil, "%s is taken", name)
	}
	c := w.config()
	c.Authorities = nil
	_, err := guard.NewRules(c, guard.Settings{}, "x")
	expect.That(t, err != nil, "nobody is taken for anybody")
}
