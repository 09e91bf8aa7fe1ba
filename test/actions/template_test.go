package actions_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hmarr/codeowners"
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

// TestTemplateTriggers: the checks of a pull request run only for main, and run again when the
// target branch changes. Otherwise a check could pass with the trust policy of another branch and
// stay valid.
func TestTemplateTriggers(t *testing.T) {
	for _, file := range []string{"../../examples/github/.github/workflows/pull-request.yaml", "../../actions/verify/README.md", "../../actions/validate/README.md"} {
		raw := must.Get(os.ReadFile(file))(t)
		if _, shown, found := strings.Cut(string(raw), "```yaml\n"); found {
			text, _, _ := strings.Cut(shown, "```\n")
			raw = []byte(text)
		}
		var w struct {
			On struct { // the key "on" is a boolean in YAML 1.1
				Requests struct{ Branches, Types []string } `json:"pull_request"`
			} `json:"true"`
		}
		must.Do(t, yaml.Unmarshal(raw, &w))
		if got := w.On.Requests; !slices.Equal(got.Branches, []string{"main"}) || !slices.Equal(got.Types, []string{"opened", "synchronize", "reopened", "edited"}) {
			t.Errorf("%s runs for the branches %q and the events %q of pull requests", file, got.Branches, got.Types)
		}
	}
}

// TestTemplateMerge: every push to main starts the workflow, with any change, and so can a person:
// GitHub compares `paths` with 300 files only, and a run can leave exceptions to a later run.
func TestTemplateMerge(t *testing.T) {
	raw, err := os.ReadFile("../../examples/github/.github/workflows/merge.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var w struct {
		On map[string]map[string]any `json:"true"`
	}
	must.Do(t, yaml.Unmarshal(raw, &w))
	want := map[string]map[string]any{"push": {"branches": []any{"main"}}, "workflow_dispatch": nil}
	if diff := cmp.Diff(want, w.On); diff != "" {
		t.Errorf("triggers (-want +got):\n%s", diff)
	}
	if raw, err = os.ReadFile("../../examples/gitlab/.gitlab-ci.yml"); err != nil || strings.Contains(string(raw), "changes:") {
		t.Errorf("GitLab's pipeline depends on the changed files: %v", err)
	}
}

// TestTemplateOwners: the policy team owns the requested exceptions. The platform team owns all
// files that decide about trust, in every folder.
func TestTemplateOwners(t *testing.T) {
	for file, decides := range map[string][]string{
		"github/.github/CODEOWNERS": {".github/workflows/merge.yaml", ".github/CODEOWNERS", ".github/actions/x/action.yml"},
		"gitlab/CODEOWNERS":         {".gitlab-ci.yml", ".gitlab/CODEOWNERS", ".gitlab/ci/jobs.yml"},
	} {
		raw := must.Get(os.ReadFile("../../examples/" + file))(t)
		owners, err := codeowners.ParseFile(strings.NewReader(strings.NewReplacer("<owner>", "acme", "<group>", "acme", "<policy team>", "policy", "<platform team>", "platform").Replace(string(raw))))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, path := range append(decides, ".polex.yaml", "trust.yaml", "trusted_root.json", "trust/root.json", "cosign.pub", "unsigned/cosign.pub", "keys/cosign.pem", "policies/pods.yaml",
			"CODEOWNERS", "docs/CODEOWNERS", "unsigned/CODEOWNERS", ".gitattributes", "unsigned/.gitattributes", ".gitmodules", "signed/a.yaml", "signed/team/a.yaml") {
			if got, err := owners.Match(path); err != nil || got == nil || len(got.Owners) != 1 || got.Owners[0].String() != "@acme/platform" {
				t.Errorf("%s: %s is owned by %v, %v", file, path, got, err)
			}
		}
		for _, path := range []string{"unsigned/a.yaml", "unsigned/team/a.yaml"} {
			if got, err := owners.Match(path); err != nil || got == nil || len(got.Owners) != 1 || got.Owners[0].String() != "@acme/policy" {
				t.Errorf("%s: %s is owned by %v, %v", file, path, got, err)
			}
		}
	}
}
