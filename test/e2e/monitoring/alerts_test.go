package monitoring

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/must"
)

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
	if len(all) == 0 {
		t.Fatal("there are no alerts")
	}
	return all
}

// TestOperator: the operator's manifest has exactly the same rules.
func TestOperator(t *testing.T) {
	rules := string(read(t, alertsFolder+"/rules.yaml"))
	_, groups, _ := strings.Cut(rules, "\ngroups:\n")
	path := alertsFolder + "/prometheusrule.yaml"
	have := string(read(t, path))
	head, _, found := strings.Cut(have, "spec:\n")
	if !found || groups == "" {
		t.Fatal("there is no spec, or there are no groups")
	}
	want := head + "spec:\n  groups:\n" + regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(groups, "  $1")
	if *update {
		must.Do(t, os.WriteFile(fixture.FromRoot(path), []byte(want), 0o644))
		return
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("write it anew with -update (-want +got):\n%s", diff)
	}
}

// TestAlerts: each alert has a severity, a summary, a description and a runbook, and there are no
// other runbooks.
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
		if !headings[a.Alert] {
			t.Errorf("docs/troubleshooting.md has no %s, or two alerts have that name", a.Alert)
		}
		delete(headings, a.Alert)
		if want := runbook + strings.ToLower(a.Alert); a.Annotations["runbook_url"] != want {
			t.Errorf("%s leads to %q, want %s", a.Alert, a.Annotations["runbook_url"], want)
		}
		if a.Annotations["summary"] == "" || a.Annotations["description"] == "" || len(a.Annotations) != 3 {
			t.Errorf("%s says %q", a.Alert, a.Annotations)
		}
		if severity := a.Labels["severity"]; !slices.Contains([]string{"critical", "warning", "info"}, severity) || len(a.Labels) != 1 {
			t.Errorf("%s has the labels %q", a.Alert, a.Labels)
		}
		if listed[a.Alert] != a.Labels["severity"] {
			t.Errorf("the README says that %s is %q, and it is %q", a.Alert, listed[a.Alert], a.Labels["severity"])
		}
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
			if times == 0 {
				t.Errorf("%q does not ask for all that fires", test.Name)
			}
			for name, n := range here {
				fires[name], silent[name] = true, silent[name] || n < times
			}
		}
	}
	for _, a := range all {
		if !fires[a.Alert] || !silent[a.Alert] {
			t.Errorf("%s: a test makes it fire: %t, and stop, or not begin: %t", a.Alert, fires[a.Alert], silent[a.Alert])
		}
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
