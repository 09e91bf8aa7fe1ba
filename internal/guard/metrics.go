package guard

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

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
	next       atomic.Pointer[time.Time] // expiry
}

// NewMetrics registers the metrics. The clock gives the time until the next expiry. A registry that has
// one of them already causes a panic.
func NewMetrics(registry prometheus.Registerer, now func() time.Time) *Metrics {
	with := promauto.With(registry)
	gauge := func(name, help string) prometheus.Gauge {
		return with.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	gauges := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return with.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return with.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		decisions: counters("polex_guard_decisions_total",
			"Requests that were answered, by operation, reason, and the authority that signed.",
			"operation", "reason", "authority"),
		latency: with.NewHistogramVec(prometheus.HistogramOpts{Name: "polex_guard_decision_seconds",
			Help:    "Time to answer a request, including the waiting time.",
			Buckets: []float64{.001, .002, .005, .01, .02, .05, .1, .25, .5, 1, 2.5, 5}}, []string{"operation"}),
		reloaded: gauges("polex_guard_config_last_reload_successful",
			"1 if the guard uses the current content of the file of a flag, "+
				"0 if it is invalid and the guard uses an older one.", "file"),
		reloadedAt: gauge("polex_guard_config_last_reload_success_timestamp_seconds",
			"When the guard loaded the configuration that it uses."),
		certified: gauges("polex_guard_certificate_expiry_timestamp_seconds",
			"When the certificate in the file of a flag, or a CA behind it in the same file, expires.", "file"),
		defined: counters("polex_guard_definition_changes_total",
			"Changes of the CustomResourceDefinitions of exceptions since the start of the guard, by API group.",
			"group"),
		definition: gauges("polex_guard_definition_state", "A number that differs between two states of the "+
			"CustomResourceDefinition of exceptions, by API group.", "group"),
		watching: gauges("polex_guard_watching",
			"1 if the guard sees changes of the objects of a kind or of its definition, "+
				"0 if it cannot list or watch them.", "kind", "of"),
		leads: gauge("polex_guard_leader", "1 for the replica that holds the Lease and checks the stored exceptions."),
		exceptions: gauges("polex_guard_exceptions", "Stored objects by kind and result: verified, "+
			"or the reason for which the guard would reject them.", "kind", "reason"),
		deletions: counters("polex_guard_deletions_total", "Exceptions that the guard deleted, by reason.", "reason"),
		written: gauges("polex_guard_reports_last_write_successful",
			"1 if the guard could write all reports, 0 if not."),
		lookedAt: gauge("polex_guard_last_recheck_timestamp_seconds", "When all stored exceptions were last checked."),
	}
	with.NewGaugeFunc(prometheus.GaugeOpts{Name: "polex_guard_next_expiry_seconds",
		Help: "Time until the next exception expires; negative if one could not be deleted in time, " +
			"NaN without exceptions.",
	}, func() float64 {
		if next := m.next.Load(); next != nil && !next.IsZero() {
			return next.Sub(now()).Seconds()
		}
		return math.NaN()
	})
	with.NewGaugeFunc(prometheus.GaugeOpts{Name: "polex_guard_clock_timestamp_seconds",
		Help: "The time by the clock of the guard, to compare with the clock of Prometheus.",
	}, func() float64 { return float64(now().UnixMilli()) / 1000 })
	m.expectRefusals()
	for _, kind := range kyverno.Kinds() {
		m.defined.WithLabelValues(kind.Group)
		m.Watching(kind, "definition", false)
	}
	return m
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

// operations are the values of the label. A request is not trusted to contain one of them.
var operations = []string{"CREATE", "UPDATE", "DELETE"}

// Decided counts a decision.
func (m *Metrics) Decided(d *Decision, took time.Duration) {
	operation := d.Operation
	if !slices.Contains(operations, operation) {
		operation = "other"
	}
	m.decisions.WithLabelValues(operation, d.Reason, d.Authority()).Inc()
	m.latency.WithLabelValues(operation).Observe(took.Seconds())
}

// Reloaded records when the configuration was loaded.
func (m *Metrics) Reloaded(at time.Time) { m.reloadedAt.Set(float64(at.Unix())) }

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
		m.next.Store(nil)
	}
}

// count counts the findings. The expiry of an exception counts until it is gone, also if its deletion
// failed. Objects of other kinds do not expire.
func (m *Metrics) count(all []*Finding) {
	m.exceptions.Reset()
	var next time.Time
	for _, f := range all {
		m.exceptions.WithLabelValues(f.Object.GroupKind.String(), f.Reason).Inc()
		end := f.Facts.ExpiresAt
		if f.Object.IsException() && !end.IsZero() && (next.IsZero() || end.Before(next)) {
			next = end
		}
	}
	m.next.Store(&next)
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

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
