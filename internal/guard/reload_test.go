package guard_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	testclock "k8s.io/utils/clock/testing"

	"github.com/polex-dev/polex/internal/guard"
)

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
		Flag: "config", Clock: testclock.NewFakeClock(now), Metrics: metrics,
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
		if err := r.Once(); (err == nil) != (step.failed == nil) {
			t.Errorf("%s: %v", step.name, err)
		}
		if current.Rules() != step.counts {
			t.Errorf("%s: other rules count", step.name)
		}
		if got := measured(t, registry, "polex_guard_config_last_reload_successful"); got != step.metric {
			t.Errorf("%s: the metric is %v, want %v", step.name, got, step.metric)
		}
		if diff := cmp.Diff(step.told, told); diff != "" {
			t.Errorf("%s: -want +got:\n%s", step.name, diff)
		}
	}
}

// measured returns the value of a metric without labels.
func measured(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
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
	if got := len(good.Kinds()); got != 2 {
		t.Errorf("it looks at %d kinds", got)
	}
	for name, settings := range map[string]guard.Settings{
		"a negative limit":          {MaxPerNamespace: -1},
		"an empty namespace":        {Namespaces: []string{""}},
		"a pattern that is none":    {Namespaces: []string{"["}},
		"a range of characters":     {Namespaces: []string{"team-[ab]"}},
		"an empty policy to guard":  {GuardPolicies: []string{""}},
		"every policy is the guard": {GuardPolicies: []string{"*"}},
	} {
		if _, err := guard.NewRules(w.config(), settings, "x"); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	c := w.config()
	c.Authorities = nil
	if _, err := guard.NewRules(c, guard.Settings{}, "x"); err == nil {
		t.Error("nobody is taken for anybody")
	}
}
