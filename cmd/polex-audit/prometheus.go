package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/polex-dev/polex/pkg/ledger"
)

// maxSeries bounds what one kind of metric brings into a Prometheus.
const maxSeries = 1000

// writePrometheus writes the text format, as the textfile collector of the node
// exporter reads it.
func writePrometheus(w io.Writer, v *view) error {
	var b strings.Builder
	metric := func(name, help string) { fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name) }
	metric("polex_audit_exceptions", "Exceptions by what has become of them.")
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
			continue // nothing is known of it
		}
		fmt.Fprintf(&b, "polex_audit_findings{kind=%s} %d\n", label(string(kind)), found[kind])
	}
	for _, by := range []struct {
		name   string
		counts []ledger.Count
	}{{"policy", v.sums.Policies}, {"namespace", v.sums.Namespaces}} {
		metric("polex_audit_open_by_"+by.name, "Open exceptions by "+by.name+", those with the most.")
		for _, c := range by.counts[:min(len(by.counts), maxSeries)] {
			fmt.Fprintf(&b, "polex_audit_open_by_%s{%s=%s} %d\n", by.name, by.name, label(c.Name), c.Open)
		}
	}
	metric("polex_audit_expiry_timestamp_seconds", "When an exception under signed/ ends, where that was verified.")
	series := 0
	met := map[string]bool{}
	for _, e := range v.Entries {
		key := e.Identity.String()
		if !e.Verified || e.Version == 0 || !e.State.Here() || e.ExpiresAt.IsZero() || met[key] || series >= maxSeries {
			continue
		}
		met[key] = true
		series++
		fmt.Fprintf(&b, "polex_audit_expiry_timestamp_seconds{group=%s,namespace=%s,name=%s} %d\n",
			label(e.Identity.Group), label(e.Identity.Namespace), label(e.Identity.Name), e.ExpiresAt.Unix())
	}
	if v.sums.Of > 0 {
		metric("polex_audit_request_to_signature_median_seconds", "Median time from the request, as Git tells it, to the signature.")
		fmt.Fprintf(&b, "polex_audit_request_to_signature_median_seconds %.0f\n", v.sums.Wait.Seconds())
	}
	metric("polex_audit_shallow", "1 if the clone does not have all of the history.")
	shallow := 0
	if v.Shallow {
		shallow = 1
	}
	fmt.Fprintf(&b, "polex_audit_shallow %d\n", shallow)
	metric("polex_audit_timestamp_seconds", "The time of the ledger.")
	fmt.Fprintf(&b, "polex_audit_timestamp_seconds %d\n", v.At.Unix())
	_, err := io.WriteString(w, b.String())
	return err
}

// label writes a label's value, which may be hostile.
func label(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
