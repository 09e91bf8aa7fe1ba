package rules_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/must"
)

// TestCore: the code that verifies has fewer lines than the README states.
func TestCore(t *testing.T) {
	const stated = 10_000
	if !strings.Contains(string(read(t, "README.md")), "fewer than 10,000 lines of Go") {
		t.Error("README.md does not state the number of lines")
	}
	lines := 0
	for _, name := range files(t) {
		parts := strings.Split(name, "/")
		if len(parts) < 3 || parts[0] != "pkg" || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		switch parts[1] {
		case "exception", "lifetime", "seal", "trust", "verify":
			lines += bytes.Count(read(t, name), []byte("\n"))
		}
	}
	if lines >= stated || lines < stated/2 {
		t.Errorf("the code that verifies has %d lines", lines)
	}
}

// tested are the modules of the programs in the table of tested versions.
var tested = map[string]string{
	"Kubernetes":                         "k8s.io/kubernetes",
	"etcd":                               "go.etcd.io/etcd/server/v3",
	"Kyverno":                            "github.com/kyverno/kyverno",
	"Fulcio":                             "github.com/sigstore/fulcio",
	"Rekor (log version 1)":              "github.com/sigstore/rekor",
	"Rekor (log version 2)":              "github.com/sigstore/rekor-tiles/v2",
	"cosign":                             "github.com/sigstore/cosign/v3",
	"Argo CD":                            "github.com/argoproj/argo-cd/v3",
	"Flux's kustomize-controller":        "github.com/fluxcd/kustomize-controller",
	"Flux's source-controller":           "github.com/fluxcd/source-controller",
	"Helm":                               "helm.sh/helm/v4",
	"act (a runner of GitHub workflows)": "github.com/nektos/act",
}

// TestVersions: docs/how-to/install.md lists the versions that the end-to-end tests run.
func TestVersions(t *testing.T) {
	_, rest, _ := strings.Cut(string(read(t, "docs/how-to/install.md")), "| program |")
	table, _, _ := strings.Cut(rest, "\n\n")
	rows := regexp.MustCompile(`(?m)^\| ([^|]+) \| ([0-9.]+) \| (\S+) \|$`).FindAllStringSubmatch(table, -1)
	if len(rows) != len(tested) {
		t.Errorf("there are %d rows, want %d", len(rows), len(tested))
	}
	for _, row := range rows {
		if module := tested[row[1]]; !strings.Contains(string(read(t, row[3]+"/go.mod")), "\t"+module+" v"+row[2]+" ") {
			t.Errorf("%s/go.mod has another version of %s (%q) than %s", row[3], row[1], module, row[2])
		}
	}
}

// languages tell how pre-commit gets the program of a hook: it builds it with Go, or it is installed.
var languages = map[string]string{"polex-validate": "golang", "polex-validate-system": "system"}

// TestPreCommitHooks compares the hooks with their commands and files.
func TestPreCommitHooks(t *testing.T) {
	raw := must.Get(os.ReadFile(filepath.Join("..", "..", ".pre-commit-hooks.yaml")))(t)
	var hooks []struct {
		ID            string   `json:"id"`
		Name          string   `json:"name"`
		Description   string   `json:"description"`
		Language      string   `json:"language"`
		Entry         string   `json:"entry"`
		Files         string   `json:"files"`
		Types         []string `json:"types"`
		RequireSerial bool     `json:"require_serial"`
	}
	must.Do(t, yaml.UnmarshalStrict(raw, &hooks))
	if len(hooks) != len(languages) {
		t.Fatalf("there are %d hooks, want %d", len(hooks), len(languages))
	}
	for _, hook := range hooks {
		command, _, _ := strings.Cut(hook.Entry, " ")
		if _, err := os.Stat(filepath.Join("..", "..", "cmd", command, "main.go")); err != nil {
			t.Errorf("%s runs %s, which is no command: %v", hook.ID, command, err)
		}
		if want := languages[hook.ID]; want == "" || hook.Language != want || !hook.RequireSerial {
			t.Errorf("%s is to be of the language %q and given all files at once", hook.ID, want)
		}
		files := must.Get(regexp.Compile(hook.Files))(t)
		for path, want := range map[string]bool{
			"unsigned/web.yaml": true, "unsigned/team-a/web.yml": true, "clusters/a/unsigned/web.json": true,
			"signed/web.yaml": false, "notunsigned/web.yaml": false, "unsigned/README.md": false, "unsigned.yaml": false,
		} {
			if files.MatchString(path) != want {
				t.Errorf("%s is for %s: %v", hook.ID, path, !want)
			}
		}
	}
}

// attacks are the numbers of the attacks that the threat model must answer.
var attacks = []string{"88", "89", "90", "91", "92", "93", "94", "96", "97",
	"99", "100", "101", "102", "103", "105", "106", "107", "108", "109", "110", "111", "112", "113", "114", "115", "116",
	"117", "118", "119", "120", "121", "122", "123", "124", "125"}

// TestThreatModel: each attack has an answer, and the tests that it names exist.
func TestThreatModel(t *testing.T) {
	all := files(t)
	var met []string
	for line := range strings.SplitSeq(string(read(t, "docs/explanation/threat-model.md")), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		number := strings.TrimSpace(cells[0])
		last := strings.TrimSpace(cells[len(cells)-1])
		if len(cells) < 3 || last == "shown by" || last == "---" {
			continue
		}
		if regexp.MustCompile(`^\d+$`).MatchString(number) {
			met = append(met, number)
		}
		shown := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(last, -1)
		if len(shown) == 0 {
			t.Errorf("nothing shows the answer to %s", number)
		}
		for _, test := range shown {
			if !exists(t, all, test[1]) {
				t.Errorf("%s: there is no test %q", number, test[1])
			}
		}
	}
	if !slices.Equal(met, attacks) {
		t.Errorf("the threat model answers %q, not %q", met, attacks)
	}
}

// exists reports whether there is a script with this path, or a test written as "folder TestName".
func exists(t *testing.T, all []string, test string) bool {
	t.Helper()
	folder, name, isFunction := strings.Cut(test, " ")
	if !isFunction {
		return strings.HasSuffix(test, ".txtar") && slices.Contains(all, test)
	}
	return slices.ContainsFunc(all, func(file string) bool {
		rest, inside := strings.CutPrefix(file, folder+"/")
		return inside && !strings.Contains(rest, "/") && strings.HasSuffix(rest, "_test.go") && strings.Contains(string(read(t, file)), "\nfunc "+name+"(t *testing.T) {")
	})
}
