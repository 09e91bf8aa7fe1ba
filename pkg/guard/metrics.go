package guard

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the guard's, in Prometheus' form.
type Metrics struct {
	decisions  *prometheus.CounterVec
	latency    *prometheus.HistogramVec
	reloaded   prometheus.Gauge
	reloadedAt prometheus.Gauge
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "polex_guard_decisions_total",
			Help: "Admission requests that were answered, by operation, reason, and the authority whose signature counts."},
			[]string{"operation", "reason", "authority"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "polex_guard_decision_seconds",
			Help:    "How long it took to answer an admission request, waiting included.",
			Buckets: []float64{.001, .002, .005, .01, .02, .05, .1, .25, .5, 1, 2.5, 5}}, []string{"operation"}),
		reloaded: prometheus.NewGauge(prometheus.GaugeOpts{Name: "polex_guard_config_last_reload_successful",
			Help: "1 when the configuration as it is now is the one that is decided by, 0 when it was refused and an older one is."}),
		reloadedAt: prometheus.NewGauge(prometheus.GaugeOpts{Name: "polex_guard_config_last_reload_success_timestamp_seconds",
			Help: "When the configuration that is decided by was taken up."}),
	}
	for _, c := range []prometheus.Collector{m.decisions, m.latency, m.reloaded, m.reloadedAt} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// operations are the values of the label; what a request says is not trusted to
// be one.
var operations = map[string]string{"CREATE": "CREATE", "UPDATE": "UPDATE", "DELETE": "DELETE"}

// Decided counts a decision.
func (m *Metrics) Decided(d *Decision, took time.Duration) {
	operation := operations[d.Operation]
	if operation == "" {
		operation = "other"
	}
	m.decisions.WithLabelValues(operation, d.Reason, d.Authority()).Inc()
	m.latency.WithLabelValues(operation).Observe(took.Seconds())
}

func (m *Metrics) reloadedSuccessfully(ok bool) {
	if ok {
		m.reloaded.Set(1)
	} else {
		m.reloaded.Set(0)
	}
}
