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
)

const nextExpiry = "polex_guard_next_expiry_seconds"

// TestNextExpiry: the metric is the next expiry, and not the start of an exception.
func TestNextExpiry(t *testing.T) {
	w := inWorld(t)
	early := now.Add(-time.Minute)
	soon := w.sealed(t, draft("soon", "x", 3*hour, ""), early)
	k := keep(t, nil, w.rules(t, guard.Settings{}, nil), soon,
		w.sealed(t, draft("later", "x", 2*hour, fmt.Sprintf(`, polex.dev/starts-at: "%s"`, now.Add(hour/2).UTC().Format(time.RFC3339))), early))
	k.says(t, "found soon verified", "found later not-yet-valid", "report [later not-yet-valid soon verified]")
	k.idle(t)
	k.expects(t, 2*hour)

	// An altered exception can state any expiry.
	k.store.put(t, copied(t, soon, func(o object) { o["spec"] = object{} }))
	k.says(t, "found soon altered")
	k.idle(t)
	k.expects(t, 2*hour)
}

// TestNextExpiryOfWhatStays: an expired exception that cannot be deleted stays the next one, also
// if other objects change.
func TestNextExpiryOfWhatStays(t *testing.T) {
	w := inWorld(t)
	other := w.sealed(t, draft("b", "x", hour, ""), now.Add(-time.Minute))
	k := keep(t, nil, w.rules(t, guard.Settings{}, nil), w.sealed(t, draft("a", "x", 10*time.Second, ""), now.Add(-time.Minute)), other)
	k.says(t, "found a verified", "found b verified", "report [a verified b verified]")
	k.idle(t)
	k.store.fail = errors.New("etcd is down")
	k.clock.SetTime(now.Add(12 * time.Second))
	k.says(t, "failed delete PolicyException.kyverno.io x/a: etcd is down", "report [a expired b verified]")
	k.idle(t)
	k.expects(t, -2*time.Second)
	k.store.put(t, copied(t, other, func(o object) { o["spec"] = object{} }))
	k.says(t, "found b altered")
	k.idle(t)
	k.expects(t, -2*time.Second)

	k.store.put(t, other)
	k.says(t, "found b verified")
	k.idle(t)
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
	if !removed {
		t.Error("nothing is told about the deletion")
	}
	k.idle(t)
	k.expects(t, now.Add(hour).Sub(k.clock.Now()))
}

// TestNextExpiryOfNone: objects of other kinds do not expire, so they are not in the metric.
func TestNextExpiryOfNone(t *testing.T) {
	w := inWorld(t)
	other := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: x, annotations: {polex.dev/expires-at: %q}}\n", now.Add(hour).UTC().Format(time.RFC3339))
	k := keep(t, nil, w.rules(t, guard.Settings{}, func(c *trust.Config) { c.Kinds = []string{"ConfigMap"} }), w.sealed(t, other, now.Add(-time.Minute)))
	k.says(t, "found a verified", "report [a verified]")
	k.idle(t)
	if got := measured(t, k.registry, nextExpiry); !math.IsNaN(got) {
		t.Errorf("it is %v", got)
	}
}

// expects expects the next expiry after this duration.
func (k *keeping) expects(t *testing.T, in time.Duration) {
	t.Helper()
	if got := measured(t, k.registry, nextExpiry); got != in.Seconds() {
		t.Errorf("the next end is in %v seconds, want %v", got, in.Seconds())
	}
}

// rechecked expects the time of the last check of all objects.
func (k *keeping) rechecked(t *testing.T, at time.Time) {
	t.Helper()
	if got := measured(t, k.registry, "polex_guard_last_recheck_timestamp_seconds"); got != float64(at.Unix()) {
		t.Errorf("the last recheck was at %v, want %v", got, at.Unix())
	}
}

// TestRefusalsFromZero: the counters of rejections exist before the first one, so that Prometheus
// sees an increase.
func TestRefusalsFromZero(t *testing.T) {
	registry := prometheus.NewRegistry()
	guard.NewMetrics(registry, time.Now)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
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
			if m.GetCounter().GetValue() != 0 || labels["authority"] != "" {
				t.Errorf("it counts %v", m)
			}
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
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
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
		if number != math.Trunc(number) || number >= 1<<53 {
			t.Errorf("%s: %v is not exact", state, number)
		}
		numbers[number] = true
		if clock := value(t, registry, "polex_guard_clock_timestamp_seconds"); clock != float64(now.Unix()) {
			t.Errorf("its clock shows %v", clock)
		}
	}
	if len(numbers) != 3 {
		t.Errorf("three states have %d numbers", len(numbers))
	}
}

// TestCertifiedUntil: the metric has no value without a certificate, also after there was one. A zero
// time would alert as a certificate that expired long ago.
func TestCertifiedUntil(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics := guard.NewMetrics(registry, func() time.Time { return now })
	for _, end := range []time.Time{{}, now, now.Add(hour), {}} {
		metrics.CertifiedUntil("--kubeconfig", end)
		got, want := value(t, registry, "polex_guard_certificate_expiry_timestamp_seconds"), float64(end.Unix())
		if math.IsNaN(got) != end.IsZero() || !end.IsZero() && got != want {
			t.Errorf("%s: %v", end, got)
		}
	}
}

// TestReportsMetric: the metric shows that the reports cannot be written, until they can.
func TestReportsMetric(t *testing.T) {
	w := inWorld(t)
	var fail atomic.Bool
	fail.Store(true)
	k := keep(t, func(c *guard.Controller) { c.Tell = unreported{c.Tell.(*keeping), &fail} },
		w.rules(t, guard.Settings{}, nil), w.sealed(t, draft("a", "x", hour, ""), now.Add(-time.Minute)))
	k.says(t, "found a verified", "failed write the reports: no API")
	k.idle(t)
	if got := value(t, k.registry, "polex_guard_reports_last_write_successful"); got != 0 {
		t.Errorf("it is %v", got)
	}
	fail.Store(false)
	k.clock.Step(2 * time.Second)
	k.says(t, "report [a verified]")
	k.idle(t)
	if got := value(t, k.registry, "polex_guard_reports_last_write_successful"); got != 1 {
		t.Errorf("it is %v", got)
	}
	k.Metrics.Leads(false)
	if got := value(t, k.registry, "polex_guard_reports_last_write_successful"); !math.IsNaN(got) {
		t.Errorf("without the Lease it is %v", got)
	}
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
	raw, err := os.ReadFile("../../docs/reference/guard.md")
	if err != nil {
		t.Fatal(err)
	}
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
		if !said[name] {
			t.Errorf("docs/reference/guard.md does not name %s", name)
		}
	}
}

// TestDocumentedConfigurations: the configurations on the page are valid.
func TestDocumentedConfigurations(t *testing.T) {
	read := 0
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page(t), -1) {
		doc, err := exception.Parse([]byte(block[1]), "guard.md")
		if err != nil {
			t.Fatal(err)
		}
		if doc.Text("kind") != "Config" || doc.GroupKind().Group != "polex.dev" { // a kubeconfig has the kind Config too
			continue
		}
		read++
		config, err := trust.Read(doc, "")
		if err != nil {
			t.Fatal(err)
		}
		var settings guard.Settings
		if err := doc.Decode(&settings, "guard"); err != nil {
			t.Fatal(err)
		}
		if _, err := guard.NewRules(config, settings, "x"); err != nil {
			t.Error(err)
		}
	}
	if read != 2 {
		t.Errorf("%d configurations were read", read)
	}
}
