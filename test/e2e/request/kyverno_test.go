//go:build e2e

package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
)

// question is the input of Kyverno's CLI.
type question struct {
	policies, resources, exceptions, values string
}

// answer is its result for one rule and one resource: "fail", "skip" if an exception exempts it,
// "pass" and so on.
type answer struct {
	Policy, Rule, Result string
	Resources            []struct{ APIVersion, Kind, Namespace, Name string }
}

// ask returns the printed report, and its results by policy, rule and resource. A rule with several
// results counts as failed if one fails.
func (q question) ask(t *testing.T) (printed string, results map[string]string) {
	t.Helper()
	dir := t.TempDir()
	arguments := []string{"apply", "--policy-report", "--output-format", "json", "policies.yaml", "--resource", "resources.yaml"}
	for name, text := range map[string]string{"policies.yaml": q.policies, "resources.yaml": q.resources, "exceptions.yaml": q.exceptions, "values.yaml": q.values} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if q.exceptions != "" {
		arguments = append(arguments, "--exception", "exceptions.yaml")
	}
	if q.values != "" {
		arguments = append(arguments, "--values-file", "values.yaml")
	}
	cli, err := filepath.Abs(filepath.Join("..", "..", "..", "bin", "e2e", "kubectl-kyverno"))
	if err != nil {
		t.Fatal(err)
	}
	apply := exec.CommandContext(t.Context(), cli, arguments...)
	apply.Dir = dir
	out, err := apply.Output()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		t.Fatalf("run Kyverno's CLI, which `make e2e` builds: %v", err)
	}
	printed = string(out)
	results = map[string]string{}
	rest := printed[max(0, strings.IndexByte(printed, '{')):]
	for part := range strings.SplitSeq(rest, "\n---\n") {
		var report struct{ Results []answer }
		if json.Unmarshal([]byte(part), &report) != nil {
			continue // the CLI could not read its input
		}
		for _, a := range report.Results {
			if a.Result == "skip" && a.Rule == "exception" {
				a.Rule = "" // of a policy without rules
			}
			for _, r := range a.Resources {
				key := fmt.Sprintf("%s %s %s %s/%s", a.Policy, a.Rule, r.Kind, r.Namespace, r.Name)
				if results[key] != "fail" {
					results[key] = a.Result
				}
			}
		}
	}
	return printed, results
}

// documents returns the readable documents of a text.
func documents(text string) []*exception.Document {
	r := exception.NewReader(strings.NewReader(text), "").Large() // like the policies of polex-validate
	var docs []*exception.Document
	for {
		d, err := r.Next()
		var syntax *exception.SyntaxError
		switch {
		case err == nil:
			docs = append(docs, d)
		case errors.As(err, &syntax):
		default:
			return docs
		}
	}
}
