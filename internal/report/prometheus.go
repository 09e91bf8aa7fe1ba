package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/plain"
)

// maxSeries is the maximum number of time series of one metric.
const maxSeries = 1000

// Prometheus writes the text format for the textfile collector of the node exporter.
func Prometheus(w io.Writer, v *Report) error {
	var b strings.Builder
	metric := func(name, help string) { gauge(&b, name, help) }
	metric("polex_audit_exceptions", "Exceptions by state.")
	states := v.States()
	for _, state := range ledger.States() {
		fmt.Fprintf(&b, "polex_audit_exceptions{state=%s} %d\n", label(string(state)), states[state])
	}
	metric("polex_audit_findings", "Findings by kind.")
	found := map[ledger.Kind]int{}
	for _, f := range v.Findings {
		found[f.Kind]++
	}
	for _, kind := range ledger.Kinds() {
		if kind.IsDrift() && !v.Compared {
			continue // unknown without a cluster
		}
		fmt.Fprintf(&b, "polex_audit_findings{kind=%s} %d\n", label(string(kind)), found[kind])
	}
	for _, by := range []struct {
		name   string
		counts []ledger.Count
	}{{"policy", v.Totals.Policies}, {"namespace", v.Totals.Namespaces}} {
		metric("polex_audit_open_by_"+by.name, "Open exceptions by "+by.name+", for those with the most.")
		for _, c := range by.counts[:min(len(by.counts), maxSeries)] {
			fmt.Fprintf(&b, "polex_audit_open_by_%s{%s=%s} %d\n", by.name, by.name, label(c.Name), c.Open)
		}
	}
	metric("polex_audit_renewals_by_policy", "Signed renewals by policy, for the policies with the most.")
	for _, c := range v.Totals.Renewals[:min(len(v.Totals.Renewals), maxSeries)] {
		fmt.Fprintf(&b, "polex_audit_renewals_by_policy{policy=%s} %d\n", label(c.Name), c.Ever)
	}
	each(&b, "polex_audit_expiry_timestamp_seconds", "When a verified exception under signed/ expires.", v, func(e *ledger.Entry) (int64, bool) { return e.ExpiresAt.Unix(), !e.ExpiresAt.IsZero() })
	each(&b, "polex_audit_renewals", "Number of renewals in a row, for each exception under signed/ that renews another one.", v, func(e *ledger.Entry) (int64, bool) {
		if e.Renews == nil {
			return 0, false
		}
		return int64(e.Renews.Number), true
	})
	each(&b, "polex_audit_chain_start_timestamp_seconds", "When the first exception of a chain of renewals was added to signed/.", v, func(e *ledger.Entry) (int64, bool) {
		if e.Renews == nil || e.Chain == nil || e.Chain.From.IsZero() {
			return 0, false
		}
		return e.Chain.From.Unix(), true
	})
	if v.Totals.Of > 0 {
		metric("polex_audit_request_to_signature_median_seconds", "Median time from the request, according to Git, to the signature.")
		fmt.Fprintf(&b, "polex_audit_request_to_signature_median_seconds %.0f\n", v.Totals.Wait.Seconds())
	}
	metric("polex_audit_shallow", "1 if the clone is shallow.")
	shallow := 0
	if v.Shallow {
		shallow = 1
	}
	fmt.Fprintf(&b, "polex_audit_shallow %d\n", shallow)
	metric("polex_audit_timestamp_seconds", "Time of the report.")
	fmt.Fprintf(&b, "polex_audit_timestamp_seconds %d\n", v.At.Unix())
	_, err := io.WriteString(w, b.String())
	return err
}

func gauge(b *strings.Builder, name, help string) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
}

// each writes the value of every verified exception under signed/ that has one.
func each(b *strings.Builder, name, help string, v *Report, value func(*ledger.Entry) (int64, bool)) {
	gauge(b, name, help)
	met := map[string]bool{}
	for _, e := range v.Entries {
		key := e.Identity.String()
		if !e.Verified || e.Version == 0 || !e.State.Here() || met[key] || len(met) >= maxSeries {
			continue
		}
		if n, ok := value(e); ok {
			met[key] = true
			fmt.Fprintf(b, "%s{group=%s,namespace=%s,name=%s} %d\n", name, label(e.Identity.Group), label(e.Identity.Namespace), label(e.Identity.Name), n)
		}
	}
}

// label escapes the value of a label, which may be hostile.
func label(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(plain.Line(text)) + `"`
}
