//go:build e2e

package workflow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/github"
)

// The configurations of pull requests, and their exceptions.
const (
	strictRules = `apiVersion: polex.dev/v1alpha1
kind: Config
shape: {require: [ticket]}
`
	looseRules = `apiVersion: polex.dev/v1alpha1
kind: Config
shape: {checks: {wildcard-rule: "off"}}
`
	narrow = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: web
  namespace: team-a
  annotations: {polex.dev/expires-in: 7d, polex.dev/ticket: SEC-1, polex.dev/reason: "it starts slowly"}
spec:
  exceptions:
  - policyName: require-probes
    ruleNames: [check]
  match:
    any:
    - resources:
        kinds: [Deployment]
        names: [web]
        namespaces: [team-a]
`
)

var (
	another = strings.Replace(narrow, "name: web", "name: api", 1)
	sloppy  = strings.NewReplacer("name: web", "name: sloppy", ", polex.dev/ticket: SEC-1", "", "[check]", "['*']").Replace(narrow)
)

// events has GitHub's data of each event, with the base commit.
var events = map[string]string{
	"pull_request": github.Proposed("%s").Payload,
	"merge_group":  `{"merge_group": {"base_ref": "refs/heads/main", "base_sha": "%s"}}`,
}

var sloppyAnnotations = []annotation{
	{"error", "unsigned/sloppy.yaml", "6", "missing-ticket"},
	{"error", "unsigned/sloppy.yaml", "10", "wildcard-rule"},
}

// pullRequests are changes of a repository with a narrow exception, and the expected messages: none
// if it passes.
var pullRequests = []struct {
	name       string
	event      string
	base, head map[string]string
	want       []annotation
	summary    []string // parts of the job's
}{
	{"an exception that is narrow", "pull_request",
		map[string]string{".polex.yaml": strictRules}, map[string]string{"unsigned/api.yaml": another},
		nil, []string{"1 document &#40;and 1 unchanged file&#41;: 1 valid"}},
	{"an exception that is sloppy", "pull_request",
		map[string]string{".polex.yaml": strictRules}, map[string]string{"unsigned/sloppy.yaml": sloppy},
		sloppyAnnotations, []string{"1 document &#40;and 1 unchanged file&#41;: 2 refusals", "| unsigned/sloppy.yaml:6:3 |", "| missing-ticket |", "| wildcard-rule |"}},
	{"one that comes with looser rules", "pull_request",
		map[string]string{".polex.yaml": strictRules}, map[string]string{".polex.yaml": looseRules, "unsigned/sloppy.yaml": sloppy},
		sloppyAnnotations, []string{": 2 refusals"}},
	{"one that comes after looser rules", "pull_request",
		map[string]string{".polex.yaml": looseRules}, map[string]string{"unsigned/sloppy.yaml": sloppy},
		nil, []string{": 1 valid"}},
	{"one that waits in a merge queue with looser rules", "merge_group",
		map[string]string{".polex.yaml": strictRules}, map[string]string{".polex.yaml": looseRules, "unsigned/sloppy.yaml": sloppy},
		sloppyAnnotations, []string{"1 document &#40;and 1 unchanged file&#41;: 2 refusals"}},
}

// TestActionInPullRequests runs actions/validate with the workflow of its README.
func TestActionInPullRequests(t *testing.T) {
	runner := newRunner(t)
	workflow := readmeWorkflow(t, "validate", "on:\n  pull_request:\n    branches: [main]\n")
	for i, request := range pullRequests {
		t.Run(request.name, func(t *testing.T) {
			repository := runner.repository(t, request.base)
			const file = ".github/workflows/validate.yaml"
			repository.write(t, map[string]string{"unsigned/web.yaml": narrow, file: strings.Replace(workflow, "  pull_request:\n", "  merge_group:\n  pull_request:\n", 1)})
			base := repository.commit(t)
			repository.offer(t, request.head)
			log := repository.run(t, github.Play{Workflow: file, Event: request.event, Payload: fmt.Sprintf(events[request.event], base), Builds: i == 0})
			want := map[bool]string{true: "success", false: "failure"}[request.want == nil]
			if diff := cmp.Diff(map[string]string{"validate": want}, log.Results); diff != "" {
				t.Errorf("jobs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(request.want, log.annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			log.summarizes(t, request.summary...)
			if t.Failed() {
				t.Log(log.Text)
			}
		})
	}
}

// readmeWorkflow returns the workflow in an action's README.
func readmeWorkflow(t *testing.T, action, trigger string) string {
	t.Helper()
	_, rest, _ := strings.Cut(contents(t, "actions/"+action+"/README.md"), "```yaml\n")
	workflow, _, _ := strings.Cut(rest, "```\n")
	if !strings.Contains(workflow, trigger) || !strings.Contains(workflow, "polex-dev/polex/actions/"+action+"@<commit>") {
		t.Fatalf("the README shows no workflow: %s", workflow)
	}
	return strings.ReplaceAll(workflow, "<commit>", github.ActionCommit)
}

// TestMergeClosed runs the workflow of examples/github-closed unchanged. It checks out a commit, not a
// branch.
func TestMergeClosed(t *testing.T) {
	runner, s := newRunner(t), sigstore(t, github.MergeFile)
	files := template(t, s)
	workflow := contents(t, "examples/github-closed/merge.yaml")
	if !strings.Contains(workflow, "types: [closed]") {
		t.Fatalf("it is no workflow for a closed pull request: %s", workflow)
	}
	files[github.MergeFile] = strings.ReplaceAll(workflow, "<commit>", github.ActionCommit)
	files[".polex.yaml"] = strings.Replace(files[".polex.yaml"], "buildTrigger: [push, workflow_dispatch]", "buildTrigger: pull_request", 1)
	repository := runner.remoted(t, files)
	api := repository.gitHub(t, true)
	merged := repository.merge(t, map[string]string{"unsigned/web.yaml": narrow})
	closed := github.Closed(merged, repository.Remote)
	closed.Env, closed.API = append(closed.Env, as(t, s, sandbox.Identity{EventName: "pull_request"})...), api.URL
	log := repository.run(t, closed)
	log.Ended(t, github.All("sign", "commit"))
	if !strings.Contains(log.Text, "the work tree is not on origin/main") {
		t.Errorf("its checkout was on a branch: %s", log.Text)
	}
	repository.signed(t, merged, "signed/web.yaml")
	repository.verified(t, s)
}
