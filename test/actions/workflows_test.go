package actions_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/must"
)

// projectRights lists the permissions of each job of the project's workflows. A job that builds cannot
// write, and the job that writes a release does not build.
var projectRights = map[string]map[string]map[string]string{
	"ci.yaml": {
		"lint":        {"contents": "read"},
		"test":        {"contents": "read"},
		"e2e":         {"contents": "read"},
		"govulncheck": {"contents": "read"},
	},
	"release.yaml": {
		"build":            {"contents": "read"},
		"attest":           {"id-token": "write", "attestations": "write"},
		"image":            {"contents": "read", "packages": "write", "id-token": "write", "attestations": "write"},
		"publish":          {"contents": "write"},
		"verify":           {"contents": "read", "attestations": "read", "packages": "read"},
		"verify-elsewhere": {"contents": "read", "attestations": "read"},
	},
}

// triggers lists the events that start each workflow. None of them gives the code of a pull request
// the rights of this repository.
var triggers = map[string][]string{
	"ci.yaml":      {"pull_request", "push", "schedule"},
	"release.yaml": {"push"},
}

// own matches the actions that the workflows use: GitHub's, and setup of this repository.
var own = regexp.MustCompile(`^(\./actions/setup|actions/(checkout|setup-go|upload-artifact|download-artifact|attest-build-provenance)@[0-9a-f]{40})$`)

// TestWorkflowRights: no job has more permissions than it needs, and no credentials stay on the disk.
// Each action is pinned. The job that publishes uses nothing of the repository, and a release is not
// built from a cache.
func TestWorkflowRights(t *testing.T) {
	files := must.Get(os.ReadDir("../../.github/workflows"))(t)
	if len(files) != len(projectRights) {
		t.Errorf("there are %d workflows, and the rights of %d", len(files), len(projectRights))
	}
	for file, jobs := range projectRights {
		raw := must.Get(os.ReadFile("../../.github/workflows/" + file))(t)
		var w struct {
			workflow
			On map[string]any `json:"true"` // the key "on" is a boolean in YAML 1.1
		}
		must.Do(t, yaml.Unmarshal(raw, &w))
		if got := slices.Sorted(maps.Keys(w.On)); !slices.Equal(got, triggers[file]) {
			t.Errorf("%s starts on %v, want %v", file, got, triggers[file])
		}
		if w.Permissions == nil || len(w.Permissions) > 0 {
			t.Errorf("the jobs of %s have %v in common", file, w.Permissions)
		}
		if len(w.Jobs) != len(jobs) {
			t.Errorf("%s has %d jobs, and the rights of %d", file, len(w.Jobs), len(jobs))
		}
		for name, j := range w.Jobs {
			if !maps.Equal(j.Permissions, jobs[name]) {
				t.Errorf("%s: %s may %v, want %v", file, name, j.Permissions, jobs[name])
			}
			for i, step := range j.Steps {
				if step.Run == "" && !own.MatchString(step.Uses) {
					t.Errorf("%s: %s, step %d runs %q", file, name, i, step.Uses)
				}
				if strings.HasPrefix(step.Uses, "actions/checkout@") && (step.With["persist-credentials"] != false || name == "publish") {
					t.Errorf("%s: %s has the repository, or the right to write to it, on its disk", file, name)
				}
				if cached, said := step.With["cache"]; file == "release.yaml" && strings.HasPrefix(step.Uses, "actions/setup-go@") && (!said || cached != false) {
					t.Errorf("%s builds from a cache that another run has filled", name)
				}
				if strings.Contains(step.Run, "${{") {
					t.Errorf("%s: %s, step %d is put together from what others say", file, name, i)
				}
			}
		}
	}
}

// TestReleaseNames: the release has the names that the actions expect.
func TestReleaseNames(t *testing.T) {
	script := must.Get(os.ReadFile("../../actions/scripts/release.sh"))(t)
	if _, err := os.Stat("../../.github/workflows/release.yaml"); err != nil || !strings.Contains(string(script), "/.github/workflows/release.yaml@refs/tags/$version") {
		t.Errorf("the actions ask for the provenance of another workflow: %v", err)
	}
	build := must.Get(os.ReadFile("../../internal/release/main.go"))(t)
	if !strings.Contains(string(script), `${command}_${version#v}_$platform.tar.gz`) || !strings.Contains(string(build), `"%s_%s_%s%s"`) {
		t.Error("the actions look for another archive than is built")
	}
}

// TestReleaseImage: the image with packages starts from one that is pinned by its digest.
func TestReleaseImage(t *testing.T) {
	raw := must.Get(os.ReadFile("../../Dockerfile"))(t)
	if !regexp.MustCompile(`(?m)^ARG BASE=docker\.io/library/debian:[0-9]+-slim@sha256:[0-9a-f]{64}$`).Match(raw) {
		t.Error("its base is not Debian, pinned by digest")
	}
	stages := strings.Split(string(raw), "\nFROM ")[1:]
	for _, stage := range stages {
		from, content, _ := strings.Cut(stage, "\n")
		base, name, _ := strings.Cut(from, " AS ")
		if want := map[bool]string{true: "${BASE}", false: "scratch"}[name == "polex"]; base != want {
			t.Errorf("%s is made from %s, want %s", name, base, want)
		}
		if !strings.Contains(content, "\nUSER 65532:65532\n") || strings.Contains(content, "\nADD ") {
			t.Errorf("%s runs as another user, or has files from elsewhere", name)
		}
		if name != "polex" && strings.Contains(content, "RUN ") {
			t.Errorf("%s runs something while it is built", name)
		}
	}
	if len(stages) != 3 {
		t.Errorf("there are %d images", len(stages))
	}
}
