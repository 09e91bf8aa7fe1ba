package actions_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/must"
)

type workflow struct {
	Permissions map[string]string
	Jobs        map[string]job
}

type job struct {
	TimeoutMinutes int               `json:"timeout-minutes"`
	Permissions    map[string]string `json:"permissions"`
	Steps          []struct {
		Uses, Run string
		With      map[string]any
	} `json:"steps"`
}

// template returns the workflows of examples/github, by file name.
func template(t *testing.T) map[string]workflow {
	t.Helper()
	files, err := filepath.Glob("../../examples/github/.github/workflows/*.yaml")
	if err != nil || len(files) != 3 {
		t.Fatalf("there are other workflows than three: %q, %v", files, err)
	}
	found := map[string]workflow{}
	for _, file := range files {
		raw := must.Get(os.ReadFile(file))(t)
		var w workflow
		if err := yaml.Unmarshal(raw, &w); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		found[filepath.Base(file)] = w
	}
	return found
}

// rights lists the permissions of each job of the template. A job gets another permission only
// after a change here.
var rights = map[string]map[string]string{
	"pull-request.yaml/validate":       {"contents": "read"},
	"pull-request.yaml/verify":         {"contents": "read"},
	"pull-request.yaml/notify-refused": {"pull-requests": "write"},
	"merge.yaml/settings":              {"contents": "read"},
	"merge.yaml/sign":                  {"contents": "read", "pull-requests": "read", "id-token": "write"},
	"merge.yaml/commit":                {"contents": "write"},
	"merge.yaml/notify":                {"contents": "read", "pull-requests": "write"},
	"merge.yaml/notify-refused":        {"pull-requests": "write"},
	"schedule.yaml/expire":             {"contents": "write"},
	"schedule.yaml/notify":             {"contents": "read", "pull-requests": "write"},
}

// TestTemplateRights: each job has only the permissions that it needs, there are no common ones,
// and a job that can sign cannot write.
func TestTemplateRights(t *testing.T) {
	met := map[string]bool{}
	for file, w := range template(t) {
		if w.Permissions == nil || len(w.Permissions) != 0 {
			t.Errorf("%s gives every job %v, and nothing is what it has to say", file, w.Permissions)
		}
		for name, j := range w.Jobs {
			at := file + "/" + name
			met[at] = true
			if !maps.Equal(j.Permissions, rights[at]) {
				t.Errorf("%s may %v, not %v", at, j.Permissions, rights[at])
			}
			if j.TimeoutMinutes == 0 {
				t.Errorf("%s may run for hours", at)
			}
			if j.Permissions["id-token"] == "write" && slices.Contains(slices.Collect(maps.Values(without(j.Permissions, "id-token"))), "write") {
				t.Errorf("%s can sign and write", at)
			}
		}
	}
	if len(met) != len(rights) {
		t.Errorf("the jobs are %v", met)
	}
}

func without(permissions map[string]string, name string) map[string]string {
	rest := maps.Clone(permissions)
	delete(rest, name)
	return rest
}

// TestTemplateSteps: a job runs only GitHub's and polex's actions, pinned by commit, with inputs
// that exist. Only jobs that push keep the credentials on disk.
func TestTemplateSteps(t *testing.T) {
	inputs := actions(t)
	for file, w := range template(t) {
		for name, j := range w.Jobs {
			for i, step := range j.Steps {
				at := file + "/" + name
				if step.Run != "" || !pinned.MatchString(step.Uses) {
					t.Errorf("%s, step %d: %q is no pinned action", at, i, step.Uses+step.Run)
				}
				action, commit, _ := strings.Cut(step.Uses, "@")
				switch {
				case action == "actions/checkout":
					if keeps, said := step.With["persist-credentials"].(bool); !said || keeps != (j.Permissions["contents"] == "write") {
						t.Errorf("%s keeps credentials: %v", at, step.With["persist-credentials"])
					}
				case strings.HasPrefix(action, "polex-dev/polex/actions/"):
					for input := range step.With {
						if _, there := inputs["../../"+strings.TrimPrefix(action, "polex-dev/polex/")].Inputs[input]; !there {
							t.Errorf("%s, step %d: %s has no input %s", at, i, action, input)
						}
					}
					// The user of the template chooses the commit.
					if strings.Trim(commit, "0") != "" {
						t.Errorf("%s, step %d names the commit %s", at, i, commit)
					}
				case action != "actions/upload-artifact" && action != "actions/download-artifact":
					t.Errorf("%s, step %d runs %s", at, i, action)
				}
			}
		}
	}
}
