package monitoring

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

const dashboardFile = "policies/dashboard/polex.json"

// dashboard has the tested fields of a Grafana dashboard.
type dashboard struct {
	UID           string `json:"uid"`
	Title         string
	ID            any // of its original database
	SchemaVersion int
	Panels        []panel
	Templating    struct{ List []variable }
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               source
	GridPos                  struct{ X, Y, W, H int }
	Panels                   []panel // of a folded row
	Targets                  []target
}

type target struct {
	Datasource         source
	RefID              string `json:"refId"`
	Expr, LegendFormat string
}

type variable struct {
	Name, Type string
	Datasource source
	Query      json.RawMessage
}

type source struct{ Type, UID string }

func readDashboard(t *testing.T) *dashboard {
	t.Helper()
	var d dashboard
	must.Do(t, json.Unmarshal(read(t, dashboardFile), &d))
	return &d
}

// chosen is the source that the viewer of the dashboard selects.
var chosen = source{Type: "prometheus", UID: "${datasource}"}

// TestDashboard: Grafana can import the dashboard unchanged.
func TestDashboard(t *testing.T) {
	d := readDashboard(t)
	if d.UID == "" || d.Title == "" || d.ID != nil || d.SchemaVersion < 36 || len(d.Panels) == 0 {
		t.Errorf("uid %q, title %q, id %v, version %d of the schema, %d panels", d.UID, d.Title, d.ID, d.SchemaVersion, len(d.Panels))
	}
	// Version 36 of the schema is the first with objects as sources.
	var whole any
	must.Do(t, json.Unmarshal(read(t, dashboardFile), &whole))
	sourcesOf(whole, func(s any) {
		if m, _ := s.(map[string]any); len(m) != 2 || m["type"] != chosen.Type || m["uid"] != chosen.UID {
			t.Errorf("a source is %v, and not the one that is chosen", s)
		}
	})
	kinds := []string{"row", "stat", "timeseries", "table", "bargauge", "heatmap"}
	ids := map[int]bool{}
	for i, p := range d.Panels {
		expect.That(t, !ids[p.ID] && p.ID > 0, "%q: the id %d is taken, or none", p.Title, p.ID)
		ids[p.ID] = true
		expect.That(t, p.Title != "" && slices.Contains(kinds, p.Type) && len(p.Panels) == 0,
			"%q is a %q, with %d panels in it", p.Title, p.Type, len(p.Panels))
		if g := p.GridPos; g.X < 0 || g.Y < 0 || g.W <= 0 || g.H <= 0 || g.X+g.W > 24 {
			t.Errorf("%q is at %+v", p.Title, g)
		}
		for _, other := range d.Panels[:i] {
			expect.That(t, !p.overlaps(other), "%q lies on %q", p.Title, other.Title)
		}
		if p.Type != "row" {
			p.check(t)
		}
	}
}

// sourcesOf visits every source.
func sourcesOf(value any, visit func(any)) {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			if name == "datasource" {
				visit(field)
			}
			sourcesOf(field, visit)
		}
	case []any:
		for _, item := range v {
			sourcesOf(item, visit)
		}
	}
}

func (p panel) overlaps(other panel) bool {
	a, b := p.GridPos, other.GridPos
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
}

func (p panel) check(t *testing.T) {
	t.Helper()
	expect.That(t, p.Datasource == chosen && p.Description != "" && len(p.Targets) != 0,
		"%q: source %v, description %q, %d queries", p.Title, p.Datasource, p.Description, len(p.Targets))
	refs := map[string]bool{}
	for _, q := range p.Targets {
		expect.That(t, q.Datasource == chosen && q.Expr != "" && q.RefID != "" && !refs[q.RefID],
			"%q: the query %+v", p.Title, q)
		refs[q.RefID] = true
	}
}

// TestDashboardVariables: every variable in a query is defined or is Grafana's own, and every defined variable is used.
func TestDashboardVariables(t *testing.T) {
	d := readDashboard(t)
	declared := map[string]bool{}
	for _, v := range d.Templating.List {
		declared[v.Name] = true
		switch {
		case v.Type == "datasource" && v.Name == "datasource" && bytes.Equal(v.Query, []byte(`"prometheus"`)):
		case v.Type == "query" && v.Datasource == chosen:
		default:
			t.Errorf("the variable %s is a %s of %v", v.Name, v.Type, v.Datasource)
		}
	}
	used := map[string]bool{"datasource": true} // tested by TestDashboard
	for _, q := range d.queries() {
		for _, m := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(q.Expr, -1) {
			used[m[1]] = true
			if !declared[m[1]] && ofGrafana[m[1]] == "" {
				t.Errorf("nobody says what $%s is in %s", m[1], q.Expr)
			}
		}
	}
	for name := range declared {
		expect.That(t, used[name], "nothing asks for $%s", name)
	}
}

// ofGrafana are Grafana's own variables with a possible value.
var ofGrafana = map[string]string{"__rate_interval": "5m"}

func (d *dashboard) queries() []target {
	var all []target
	for _, p := range d.Panels {
		all = append(all, p.Targets...)
	}
	return all
}

// filled returns a query as Grafana sends it, with everything selected.
func filled(query string) string {
	for name, value := range ofGrafana {
		query = strings.ReplaceAll(query, "$"+name, value)
	}
	return regexp.MustCompile(`\$\w+`).ReplaceAllString(query, ".*")
}

var update = flag.Bool("update", false, "write what follows from the alerts")

const (
	alertsFolder = "policies/alerts"
	runbook      = "https://github.com/polex-dev/polex/blob/main/docs/troubleshooting.md#"
)

// alert is an alert of rules.yaml.
type alert struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) []alert {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []alert
		}
	}
	must.Do(t, yaml.UnmarshalStrict(read(t, alertsFolder+"/rules.yaml"), &file))
	var all []alert
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	must.That(t, len(all) != 0, "there are no alerts")
	return all
}

// TestOperator: the operator's manifest has exactly the same rules.
func TestOperator(t *testing.T) {
	rules := string(read(t, alertsFolder+"/rules.yaml"))
	_, groups, _ := strings.Cut(rules, "\ngroups:\n")
	path := alertsFolder + "/prometheusrule.yaml"
	have := string(read(t, path))
	head, _, found := strings.Cut(have, "spec:\n")
	must.That(t, found && groups != "", "there is no spec, or there are no groups")
	want := head + "spec:\n  groups:\n" + regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(groups, "  $1")
	if *update {
		must.Do(t, os.WriteFile(fixture.FromRoot(path), []byte(want), 0o644))
		return
	}
	expect.Equal(t, "write it anew with -update", want, have)
}

// TestAlerts: each alert has a severity, a summary, a description and a runbook, and there are no other runbooks.
func TestAlerts(t *testing.T) {
	headings := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^### (Polex\w+)$`).FindAllSubmatch(read(t, "docs/troubleshooting.md"), -1) {
		headings[string(m[1])] = true
	}
	listed := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(Polex\\w+)` \\| (\\w+) \\|").FindAllSubmatch(read(t, alertsFolder+"/README.md"), -1) {
		listed[string(m[1])] = string(m[2])
	}
	for _, a := range alerts(t) {
		expect.That(t, headings[a.Alert], "docs/troubleshooting.md has no %s, or two alerts have that name", a.Alert)
		delete(headings, a.Alert)
		if want := runbook + strings.ToLower(a.Alert); a.Annotations["runbook_url"] != want {
			t.Errorf("%s leads to %q, want %s", a.Alert, a.Annotations["runbook_url"], want)
		}
		expect.That(t, a.Annotations["summary"] != "" && a.Annotations["description"] != "" && len(a.Annotations) == 3,
			"%s says %q", a.Alert, a.Annotations)
		if severity := a.Labels["severity"]; !slices.Contains([]string{"critical", "warning", "info"}, severity) || len(a.Labels) != 1 {
			t.Errorf("%s has the labels %q", a.Alert, a.Labels)
		}
		expect.That(t, listed[a.Alert] == a.Labels["severity"],
			"the README says that %s is %q, and it is %q", a.Alert, listed[a.Alert], a.Labels["severity"])
		delete(listed, a.Alert)
	}
	for name := range headings {
		t.Errorf("docs/troubleshooting.md has %s, and there is no such alert", name)
	}
	for name := range listed {
		t.Errorf("the README has %s, and there is no such alert", name)
	}
}

// TestAlertsTried: promtool's tests make each alert fire, and in the same test at another time not
// fire. They list all firing alerts, so both can fail.
func TestAlertsTried(t *testing.T) {
	const everything = `ALERTS{alertstate="firing"}`
	fires, silent := map[string]bool{}, map[string]bool{}
	all := alerts(t)
	for _, path := range testFiles(t) {
		var file struct {
			Tests []struct {
				Name  string
				Evals []struct {
					Expr    string
					Samples []struct{ Labels string } `json:"exp_samples"`
				} `json:"promql_expr_test"`
			}
		}
		text := must.Get(os.ReadFile(path))(t)
		must.Do(t, yaml.Unmarshal(text, &file))
		for _, test := range file.Tests {
			here, times := map[string]int{}, 0
			for _, eval := range test.Evals {
				if eval.Expr != everything {
					continue
				}
				times++
				seen := map[string]bool{}
				for _, sample := range eval.Samples {
					if m := regexp.MustCompile(`alertname="(\w+)"`).FindStringSubmatch(sample.Labels); m != nil {
						seen[m[1]] = true
					}
				}
				for name := range seen {
					here[name]++
				}
			}
			expect.That(t, times != 0, "%q does not ask for all that fires", test.Name)
			for name, n := range here {
				fires[name], silent[name] = true, silent[name] || n < times
			}
		}
	}
	for _, a := range all {
		expect.That(t, fires[a.Alert] && silent[a.Alert],
			"%s: a test makes it fire: %t, and stop, or not begin: %t", a.Alert, fires[a.Alert], silent[a.Alert])
	}
}

func testFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(fixture.FromRoot(alertsFolder + "/tests/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no tests:", err)
	}
	return files
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(fixture.FromRoot(path)))(t)
}
