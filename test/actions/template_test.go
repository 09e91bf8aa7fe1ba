package actions_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hmarr/codeowners"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/must"
)

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
