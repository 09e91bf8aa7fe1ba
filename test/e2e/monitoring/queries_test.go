//go:build e2e

package monitoring

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestQueries: every metric, label and value in an alert or in the dashboard exists in the measured metrics.
func TestQueries(t *testing.T) {
	repository := repository(t)
	q := question{
		Measured: []string{ofTheGuard(t, repository), ofTheLedger(t, repository), ofKyverno(t), ofTheAPIServer(t)},
		Values: map[string][]string{
			// Further possible values, from the guard's code.
			"reason": {guard.ReasonVerified, guard.ReasonDeleted, guard.ReasonReleased, guard.ReasonStatus, guard.StateDeleting},
		},
		Given: []string{"job", "instance"},
	}
	for _, reason := range append(verify.Reasons(), guard.Reasons()...) {
		q.Values["reason"] = append(q.Values["reason"], reason.Name)
	}

	asked := append(ofAlerts(t), ofDashboard(t)...)
	asked = append(asked, ofRunbooks(t)...)
	for _, a := range asked {
		q.Queries = append(q.Queries, a.query)
	}
	for i, problems := range q.problems(t) {
		for _, p := range problems {
			t.Errorf("%s: %s", asked[i].by, p)
		}
	}
	t.Logf("%d queries", len(asked))
	t.Run("slips", func(t *testing.T) { slips(t, q) })
}

// slips: names that are not measured are found.
func slips(t *testing.T, q question) {
	q.Queries = nil
	cases := []struct {
		query
		problem string
	}{
		{query{"absent(polex_guard_leads)", nil}, "there is no metric polex_guard_leads"},
		{query{`polex_guard_exceptions{why="unsigned"} > 0`, nil}, "polex_guard_exceptions has no label why"},
		{query{`polex_guard_exceptions{reason="not-signed"} > 0`, nil}, `polex_guard_exceptions has no reason that is "not-signed"`},
		{query{`polex_guard_exceptions{reason!~"verified|gone"} > 0`, nil}, `polex_guard_exceptions has no reason that is "gone"`},
		{query{`polex_audit_findings{kind=~"drift-.+"} > 0`, nil}, `polex_audit_findings has no kind like "drift-.+"`},
		{query{"sum by (state) (polex_audit_findings)", nil}, "it is grouped by state, which is no label of polex_audit_findings"},
		{query{"sum by (kind) (polex_audit_findings)", []string{"reason"}}, "the answer has no label reason"},
		{query{"sum(polex_audit_findings) > 0", []string{"kind"}}, "the answer has no label kind"},
		{query{"polex_audit_findings or polex_audit_exceptions", []string{"kind"}}, "the answer has no label kind"},
		{query{"polex_audit_findings * on (state) polex_audit_exceptions", nil}, "it is matched on state, which is no label of both sides of polex_audit_findings * on (state) polex_audit_exceptions"},
		{query{"histogram_quantile(0.5, sum(rate(polex_guard_decision_seconds_bucket[5m])))", nil}, "histogram_quantile(0.5, sum(rate(polex_guard_decision_seconds_bucket[5m]))) has no buckets"},
		{query{`increase(kyverno_policy_results_total{rule_result="failed"}[5m])`, nil}, `kyverno_policy_results_total has no rule_result that is "failed"`},
		{query{"sum(polex_guard_leader", nil}, "parse error"},
	}
	for _, tc := range cases {
		q.Queries = append(q.Queries, tc.query)
	}
	for i, problems := range q.problems(t) {
		if len(problems) != 1 || !strings.Contains(problems[0], cases[i].problem) {
			t.Errorf("%s: it says %q, want %q", cases[i].Expression, problems, cases[i].problem)
		}
	}
}

// asked is a query with its origin.
type asked struct {
	by string
	query
}

func ofAlerts(t *testing.T) []asked {
	t.Helper()
	var all []asked
	for _, a := range alerts(t) {
		q := asked{a.Alert, query{Expression: a.Expr}}
		for _, text := range a.Annotations {
			for _, m := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(text, -1) {
				q.Read = append(q.Read, m[1])
			}
		}
		all = append(all, q)
	}
	return all
}

func ofDashboard(t *testing.T) []asked {
	t.Helper()
	d := readDashboard(t)
	var all []asked
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			q := asked{"the panel " + p.Title, query{Expression: filled(target.Expr)}}
			for _, m := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				q.Read = append(q.Read, m[1])
			}
			all = append(all, q)
		}
	}
	// The selectable values: label_values(METRIC, LABEL).
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		var text struct{ Query string }
		must.Do(t, json.Unmarshal(v.Query, &text))
		m := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(text.Query)
		must.That(t, m != nil, "the variable %s is %q", v.Name, text.Query)
		all = append(all, asked{"the variable " + v.Name, query{Expression: m[1], Read: []string{m[2]}}})
	}
	return all
}

// ofRunbooks returns the queries in docs/troubleshooting.md.
func ofRunbooks(t *testing.T) []asked {
	t.Helper()
	var all []asked
	for _, m := range regexp.MustCompile("`(sum[^`]*)`").FindAllSubmatch(read(t, "docs/troubleshooting.md"), -1) {
		all = append(all, asked{"docs/troubleshooting.md", query{Expression: string(m[1])}})
	}
	expect.That(t, len(all) != 0, "docs/troubleshooting.md shows no query")
	return all
}
