package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/internal/usage"
)

// maxSeries is the maximum number of time series of one metric.
const maxSeries = 1000

// metrics builds the text format of Prometheus.
type metrics struct{ strings.Builder }

func (m *metrics) gauge(name, help string) {
	fmt.Fprintf(m, "# HELP polex_audit_%s %s\n# TYPE polex_audit_%[1]s gauge\n", name, help)
}

// add adds a series. labels are names and values; values may be hostile.
func (m *metrics) add(name string, value int64, labels ...string) {
	var pairs []string
	for pair := range slices.Chunk(labels, 2) {
		value := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(plain.Line(pair[1]))
		pairs = append(pairs, pair[0]+`="`+value+`"`)
	}
	if m.WriteString("polex_audit_" + name); len(pairs) > 0 {
		m.WriteString("{" + strings.Join(pairs, ",") + "}")
	}
	fmt.Fprintf(m, " %d\n", value)
}

// Prometheus writes the text format for the textfile collector of the node exporter.
func Prometheus(w io.Writer, v *Report) error {
	m := &metrics{}
	m.gauge("exceptions", "Exceptions by state.")
	states := v.States()
	for _, state := range ledger.States() {
		m.add("exceptions", int64(states[state]), "state", string(state))
	}
	m.gauge("findings", "Findings by kind.")
	findings := map[ledger.Kind]int64{}
	for _, f := range v.Findings {
		findings[f.Kind]++
	}
	for _, kind := range ledger.Kinds() {
		if (!kind.IsDrift() || v.Compared) && (!kind.IsUsage() || v.UsageKnown) { // unknown without a cluster
			m.add("findings", findings[kind], "kind", string(kind))
		}
	}
	for _, by := range []struct {
		name, label, help string
		counts            []ledger.Count
		value             func(ledger.Count) int
	}{
		{"open_by_policy", "policy", "Open exceptions by policy", v.Totals.Policies, openOf},
		{"open_by_namespace", "namespace", "Open exceptions by exempted namespace", v.Totals.Exempted, openOf},
		{"renewals_by_policy", "policy", "Signed renewals by policy", v.Totals.Renewals, everOf},
	} {
		m.gauge(by.name, by.help+", for those with the most.")
		for _, c := range by.counts[:min(len(by.counts), maxSeries)] {
			m.add(by.name, int64(by.value(c)), by.label, c.Name)
		}
	}
	m.each(v, "expiry_timestamp_seconds", "When a verified exception under signed/ expires.",
		func(e *ledger.Entry) (int64, bool) { return e.ExpiresAt.Unix(), !e.ExpiresAt.IsZero() })
	m.each(v, "renewals", "Number of renewals in a row, for each exception under signed/ that renews another one.",
		func(e *ledger.Entry) (int64, bool) { return int64(e.Number()), e.Renews != nil })
	m.each(v, "chain_start_timestamp_seconds", "When the first exception of a chain of renewals was added to signed/.",
		func(e *ledger.Entry) (int64, bool) {
			if e.Renews == nil || e.Chain == nil {
				return 0, false
			}
			return e.Chain.From.Unix(), !e.Chain.From.IsZero()
		})
	if v.UsageKnown {
		m.usages(v)
	}
	m.gauge("shallow", "1 if the clone is shallow.")
	shallow := int64(0)
	if v.Shallow {
		shallow = 1
	}
	m.add("shallow", shallow)
	m.gauge("timestamp_seconds", "Time of the report.")
	m.add("timestamp_seconds", v.At.Unix())
	_, err := io.WriteString(w, m.String())
	return err
}

func openOf(c ledger.Count) int { return c.Open }
func everOf(c ledger.Count) int { return c.Ever }

// usages writes the number of exceptions of each usage, and 1 for the usage of each exception. The others are
// 0, so that min_over_time tells since when an exception is idle.
func (m *metrics) usages(v *Report) {
	of := map[usage.State]int64{}
	var known []*ledger.Entry
	for _, e := range v.Entries {
		if e.Usage != nil {
			of[e.Usage.State]++
			known = append(known, e)
		}
	}
	m.gauge("usage", "Exceptions of signed/ in the cluster by usage.")
	for _, state := range usage.States() {
		m.add("usage", of[state], "state", string(state))
	}
	m.gauge("exception_usage", "1 for the usage of an exception in the cluster, 0 for the others.")
	for _, e := range known[:min(len(known), maxSeries)] {
		for _, state := range usage.States() {
			is := int64(0)
			if e.Usage.State == state {
				is = 1
			}
			m.add("exception_usage", is, "state", string(state), "group", e.Identity.Group,
				"namespace", e.Identity.Namespace, "name", e.Identity.Name)
		}
	}
}

// each writes the value of every verified exception under signed/ that has one.
func (m *metrics) each(v *Report, name, help string, value func(*ledger.Entry) (int64, bool)) {
	m.gauge(name, help)
	seen := map[string]bool{}
	for _, e := range v.Entries {
		key := e.Identity.String()
		if !e.Verified || e.Version == 0 || !e.State.Here() || seen[key] || len(seen) >= maxSeries {
			continue
		}
		if n, ok := value(e); ok {
			seen[key] = true
			m.add(name, n, "group", e.Identity.Group, "namespace", e.Identity.Namespace, "name", e.Identity.Name)
		}
	}
}
