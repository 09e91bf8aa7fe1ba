package monitoring

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

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
		if ids[p.ID] || p.ID <= 0 {
			t.Errorf("%q: the id %d is taken, or none", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.Title == "" || !slices.Contains(kinds, p.Type) || len(p.Panels) > 0 {
			t.Errorf("%q is a %q, with %d panels in it", p.Title, p.Type, len(p.Panels))
		}
		if g := p.GridPos; g.X < 0 || g.Y < 0 || g.W <= 0 || g.H <= 0 || g.X+g.W > 24 {
			t.Errorf("%q is at %+v", p.Title, g)
		}
		for _, other := range d.Panels[:i] {
			if p.overlaps(other) {
				t.Errorf("%q lies on %q", p.Title, other.Title)
			}
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
	if p.Datasource != chosen || p.Description == "" || len(p.Targets) == 0 {
		t.Errorf("%q: source %v, description %q, %d queries", p.Title, p.Datasource, p.Description, len(p.Targets))
	}
	refs := map[string]bool{}
	for _, q := range p.Targets {
		if q.Datasource != chosen || q.Expr == "" || q.RefID == "" || refs[q.RefID] {
			t.Errorf("%q: the query %+v", p.Title, q)
		}
		refs[q.RefID] = true
	}
}

// TestDashboardVariables: every variable in a query is defined or is Grafana's own, and every
// defined variable is used.
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
		if !used[name] {
			t.Errorf("nothing asks for $%s", name)
		}
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
