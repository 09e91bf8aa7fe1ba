package guard

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// Metrics are the Prometheus metrics of the guard.
type Metrics struct {
	decisions  *prometheus.CounterVec
	latency    *prometheus.HistogramVec
	reloaded   *prometheus.GaugeVec
	reloadedAt prometheus.Gauge
	defined    *prometheus.CounterVec
	definition *prometheus.GaugeVec // has no value before the definition was read
	watching   *prometheus.GaugeVec
	certified  *prometheus.GaugeVec // has no value without a certificate

	// Of the guard that holds the lease.
	leads      prometheus.Gauge
	exceptions *prometheus.GaugeVec
	deletions  *prometheus.CounterVec
	written    *prometheus.GaugeVec // has no label, and no value before the first report
	lookedAt   prometheus.Gauge

	mu     sync.Mutex
	expiry map[exception.GroupKind]time.Time // the next one of each kind
}

// NewMetrics registers the metrics. The clock gives the time until the next expiry.
func NewMetrics(registry prometheus.Registerer, now func() time.Time) (*Metrics, error) {
	m := &Metrics{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "polex_guard_decisions_total",
			Help: "Requests that were answered, by operation, reason, and the authority that signed."},
			[]string{"operation", "reason", "authority"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "polex_guard_decision_seconds",
			Help:    "Time to answer a request, including the waiting time.",
			Buckets: []float64{.001, .002, .005, .01, .02, .05, .1, .25, .5, 1, 2.5, 5}}, []string{"operation"}),
		reloaded: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "polex_guard_config_last_reload_successful",
			Help: "1 if the guard uses the current content of the file of a flag, 0 if it is invalid and the guard uses an older one."}, []string{"file"}),
		reloadedAt: gauge("polex_guard_config_last_reload_success_timestamp_seconds",
			"When the guard loaded the configuration that it uses."),
		certified: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "polex_guard_certificate_expiry_timestamp_seconds",
			Help: "When the certificate in the file of a flag, or a CA behind it in the same file, expires."}, []string{"file"}),
		defined: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "polex_guard_definition_changes_total",
			Help: "Changes of the CustomResourceDefinitions of exceptions since the start of the guard, by API group."},
			[]string{"group"}),
		definition: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "polex_guard_definition_state",
			Help: "A number that differs between two states of the CustomResourceDefinition of exceptions, by API group."},
			[]string{"group"}),
		watching: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "polex_guard_watching",
			Help: "1 if the guard sees changes of the objects of a kind or of its definition, 0 if it cannot list or watch them."},
			[]string{"kind", "of"}),
		leads: gauge("polex_guard_leader", "1 for the replica that holds the Lease and checks the stored exceptions."),
		exceptions: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "polex_guard_exceptions",
			Help: "Stored objects by kind and result: verified, or the reason for which the guard would reject them."},
			[]string{"kind", "reason"}),
		deletions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "polex_guard_deletions_total",
			Help: "Exceptions that the guard deleted, by reason."}, []string{"reason"}),
		written: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "polex_guard_reports_last_write_successful",
			Help: "1 if the guard could write all reports, 0 if not."}, nil),
		lookedAt: gauge("polex_guard_last_recheck_timestamp_seconds", "When all stored exceptions were last checked."),
	}
	nearest := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "polex_guard_next_expiry_seconds",
		Help: "Time until the next exception expires; negative if one could not be deleted in time, NaN without exceptions."},
		func() float64 {
			m.mu.Lock()
			defer m.mu.Unlock()
			seconds := math.Inf(1)
			for _, at := range m.expiry {
				seconds = min(seconds, at.Sub(now()).Seconds())
			}
			if math.IsInf(seconds, 1) {
				return math.NaN()
			}
			return seconds
		})
	clock := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "polex_guard_clock_timestamp_seconds",
		Help: "The time by the clock of the guard, to compare with the clock of Prometheus."},
		func() float64 { return float64(now().UnixMilli()) / 1000 })
	for _, c := range []prometheus.Collector{m.decisions, m.latency, m.reloaded, m.reloadedAt, m.defined,
		clock, m.definition, m.watching, m.written, m.certified, m.leads, m.exceptions, m.deletions, m.lookedAt, nearest} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	m.expectRefusals()
	for _, kind := range kyverno.Kinds() {
		m.defined.WithLabelValues(kind.Group)
		m.Watching(kind, "definition", false)
	}
	return m, nil
}

// expectRefusals starts the counters of rejections at 0. Prometheus sees no increase if a counter
// first appears with the value 1, so the first rejection would cause no alert.
func (m *Metrics) expectRefusals() {
	for _, r := range append(Reasons(), verify.Reasons()...) {
		reason := r.Name
		if reason == ReasonUnreadable || reason == ReasonConversion {
			continue // no request is rejected for this reason
		}
		for _, operation := range []string{"CREATE", "UPDATE"} {
			m.decisions.WithLabelValues(operation, reason, "")
		}
	}
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

// operations are the values of the label. A request is not trusted to contain one of them.
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

// Reread records whether the content of a flag's file is in use.
func (m *Metrics) Reread(file string, ok bool) { m.reloaded.WithLabelValues(file).Set(number(ok)) }

// CertifiedUntil records the expiry of the certificate in a flag's file; zero for none.
func (m *Metrics) CertifiedUntil(file string, end time.Time) {
	if end.IsZero() {
		m.certified.DeleteLabelValues(file)
		return
	}
	m.certified.WithLabelValues(file).Set(float64(end.Unix()))
}

// Leads records whether this guard holds the lease. A guard without it drops the metrics that only
// the holder knows.
func (m *Metrics) Leads(leads bool) {
	m.leads.Set(number(leads))
	if !leads {
		m.exceptions.Reset()
		m.written.Reset()
		m.mu.Lock()
		defer m.mu.Unlock()
		m.expiry = nil
	}
}

func (m *Metrics) found(all []*Finding) {
	m.exceptions.Reset()
	for _, f := range all {
		m.exceptions.WithLabelValues(f.Object.GroupKind.String(), f.Reason).Inc()
	}
}

// DefinitionChanged counts a change of the definition of a kind of exceptions.
func (m *Metrics) DefinitionChanged(kind exception.GroupKind) {
	m.defined.WithLabelValues(kind.Group).Inc()
}

// DefinitionState records the state of the definition of a kind of exceptions.
func (m *Metrics) DefinitionState(kind exception.GroupKind, state string) {
	digest := sha256.Sum256([]byte(state))
	const exact = 11 // bits too many for an exact float64
	m.definition.WithLabelValues(kind.Group).Set(float64(binary.BigEndian.Uint64(digest[:]) >> exact))
}

// Watching records whether changes of the objects of a kind, or of its definition, are seen.
func (m *Metrics) Watching(kind exception.GroupKind, of string, yes bool) {
	m.watching.WithLabelValues(kind.String(), of).Set(number(yes))
}

func (m *Metrics) reported(ok bool) { m.written.WithLabelValues().Set(number(ok)) }

func (m *Metrics) removed(reason string) { m.deletions.WithLabelValues(reason).Inc() }

func (m *Metrics) lookedAtAll(at time.Time) { m.lookedAt.Set(float64(at.Unix())) }

func (m *Metrics) nextExpiry(kind exception.GroupKind, next *appointment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if next == nil {
		delete(m.expiry, kind)
		return
	}
	if m.expiry == nil {
		m.expiry = map[exception.GroupKind]time.Time{}
	}
	m.expiry[kind] = next.at
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
