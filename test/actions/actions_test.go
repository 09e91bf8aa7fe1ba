package actions_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/must"
)

type action struct {
	Inputs  map[string]struct{ Description, Default string }
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []struct {
			ID, Uses, Run, Shell string
			Env                  map[string]string
		}
	}
}

func actions(t *testing.T) map[string]action {
	t.Helper()
	files, err := filepath.Glob("../../actions/*/action.yml")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no actions", err)
	}
	found := map[string]action{}
	for _, file := range files {
		raw := must.Get(os.ReadFile(file))(t)
		var a action
		if err := yaml.Unmarshal(raw, &a); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		found[filepath.Dir(file)] = a
	}
	return found
}

var pinned = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}$`)

// TestNothingIsInterpolated: no script contains an expression. With one, the shell would run an
// input such as the name of a branch or a title.
func TestNothingIsInterpolated(t *testing.T) {
	for dir, a := range actions(t) {
		if a.Runs.Using != "composite" {
			t.Errorf("%s is not composite", dir)
		}
		for i, step := range a.Runs.Steps {
			if strings.Contains(step.Run, "${{") || strings.Contains(step.Shell, "${{") {
				t.Errorf("%s, step %d: an expression in a script", dir, i)
			}
			if step.Uses != "" && !pinned.MatchString(step.Uses) {
				t.Errorf("%s, step %d: %s is not pinned by its commit", dir, i, step.Uses)
			}
		}
	}
}

// TestInputsAndOutputsAreDocumented: the tables of the README name each input with its default, and
// each output. The action uses each of them.
func TestInputsAndOutputsAreDocumented(t *testing.T) {
	for dir, a := range actions(t) {
		readme := must.Get(os.ReadFile(filepath.Join(dir, "README.md")))(t)
		passed := map[string]bool{}
		steps := map[string]bool{}
		for _, step := range a.Runs.Steps {
			steps[step.ID] = true
			for _, value := range step.Env {
				passed[value] = true
			}
		}
		inputs, outputs := table(string(readme), "input"), table(string(readme), "output")
		for name, input := range a.Inputs {
			if input.Description == "" || inputs[name] == "" {
				t.Errorf("%s: the input %s is not described", dir, name)
			}
			if input.Default != "" && !strings.Contains(input.Default, "${{") && !strings.Contains(inputs[name], "`"+input.Default+"`") {
				t.Errorf("%s: the README does not give the default of %s", dir, name)
			}
			if !passed["${{ inputs."+name+" }}"] {
				t.Errorf("%s: the input %s is not passed on", dir, name)
			}
		}
		for name, output := range a.Outputs {
			if output.Description == "" || outputs[name] == "" {
				t.Errorf("%s: the output %s is not described", dir, name)
			}
			from := regexp.MustCompile(`^\$\{\{ steps\.([a-z]+)\.outputs\.` + name + ` \}\}$`).FindStringSubmatch(output.Value)
			if from == nil || !steps[from[1]] {
				t.Errorf("%s: the output %s is no step's", dir, name)
			}
		}
		if len(inputs) != len(a.Inputs) || len(outputs) != len(a.Outputs) {
			t.Errorf("%s: %d inputs and %d outputs, %d and %d documented", dir, len(a.Inputs), len(a.Outputs), len(inputs), len(outputs))
		}
	}
}

// table returns the rows of the table with a certain first word in its head, by the name in their
// first cell.
func table(readme, head string) map[string]string {
	rows := map[string]string{}
	_, below, _ := strings.Cut(readme, "\n| "+head+" |")
	for line := range strings.SplitSeq(below, "\n") {
		if line == "" {
			break
		}
		if row := regexp.MustCompile("^\\| `([a-z0-9-]+)` \\|").FindStringSubmatch(line); row != nil {
			rows[row[1]] = line
		}
	}
	return rows
}
