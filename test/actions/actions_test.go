package actions_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

type action struct {
	Inputs map[string]struct{ Description, Default string }
	Runs   struct {
		Using string
		Steps []struct {
			Uses, Run, Shell string
			Env              map[string]string
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
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var a action
		if err := yaml.Unmarshal(raw, &a); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		found[filepath.Dir(file)] = a
	}
	return found
}

var pinned = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}$`)

// TestNothingIsInterpolated: an expression in a script would let an input, and
// so a branch's name or a title, be read as shell.
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

// TestInputsAreDocumented: the README's table names each input with its default,
// and each is passed on.
func TestInputsAreDocumented(t *testing.T) {
	for dir, a := range actions(t) {
		readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		passed := map[string]bool{}
		for _, step := range a.Runs.Steps {
			for _, value := range step.Env {
				passed[value] = true
			}
		}
		rows := regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|.*$").FindAllStringSubmatch(string(readme), -1)
		documented := map[string]string{}
		for _, row := range rows {
			documented[row[1]] = row[0]
		}
		for name, input := range a.Inputs {
			if input.Description == "" || documented[name] == "" {
				t.Errorf("%s: the input %s is not described", dir, name)
			}
			if input.Default != "" && !strings.Contains(input.Default, "${{") && !strings.Contains(documented[name], "`"+input.Default+"`") {
				t.Errorf("%s: the README does not give the default of %s", dir, name)
			}
			if !passed["${{ inputs."+name+" }}"] {
				t.Errorf("%s: the input %s is not passed on", dir, name)
			}
		}
		if len(documented) != len(a.Inputs) {
			t.Errorf("%s: %d inputs, %d documented", dir, len(a.Inputs), len(documented))
		}
	}
}
