//go:build e2e

package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/github"
	"github.com/polex-dev/polex/test/expect"
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

// pullRequests are changes of a repository with a narrow exception, and the expected messages: none if it passes.
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
			expect.Equal(t, "jobs", map[string]string{"validate": want}, log.Results)
			expect.Equal(t, "annotations", request.want, log.annotations)
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

// TestMergeClosed runs the workflow of examples/github-closed unchanged. It checks out a commit, not a branch.
func TestMergeClosed(t *testing.T) {
	runner, s := newRunner(t), sigstore(t, github.MergeFile)
	files := template(t, s)
	workflow := contents(t, "examples/github-closed/merge.yaml")
	expect.Contains(t, workflow, "types: [closed]")
	files[github.MergeFile] = strings.ReplaceAll(workflow, "<commit>", github.ActionCommit)
	files[".polex.yaml"] = strings.Replace(files[".polex.yaml"], "buildTrigger: [push, workflow_dispatch]", "buildTrigger: pull_request", 1)
	repository, api, merged := mergedIn(t, runner, files)
	closed := github.Closed(merged, repository.Remote)
	closed.Env, closed.API = append(closed.Env, as(t, s, sandbox.Identity{EventName: "pull_request"})...), api.URL
	log := repository.run(t, closed)
	log.Ended(t, github.All("sign", "commit"))
	expect.Contains(t, log.Text, "the work tree is not on origin/main")
	repository.signed(t, merged, "signed/web.yaml")
	repository.verified(t, s)
}

// TestProposal runs the template's workflow for pull requests.
func TestProposal(t *testing.T) {
	runner, s := newRunner(t), sigstore(t, github.MergeFile)
	good := sealed(t, s, narrow, 0)
	changed := strings.Replace(good, "names: [web]", "names: [api]", 1)
	theirs := template(t, s)[".polex.yaml"]
	theirs = strings.Replace(theirs, "require: [reason, ticket]", "require: []", 1)
	theirs = strings.ReplaceAll(theirs, "merge.yaml@refs/heads/main", "other.yaml@refs/heads/main")
	type files = map[string]string
	web := files{"signed/web.yaml": good}
	const ok, no = "success", "failure"
	for _, c := range []struct {
		name             string
		base, head       files
		validate, verify string       // the results of the jobs
		want             []annotation // errors
	}{
		{"nothing yet", nil, files{"README.md": "Exceptions.\n"}, ok, ok, nil},
		{"a narrow one", web, files{"unsigned/api.yaml": another}, ok, ok, nil},
		{"a sloppy one", web, files{"unsigned/sloppy.yaml": sloppy}, no, ok, sloppyAnnotations},
		{"a signed one, changed", web, files{"signed/web.yaml": changed}, ok, no, []annotation{{"error", "signed/web.yaml", "1", "altered"}}},
		{"one that nobody has signed", nil, files{"signed/web.yaml": narrow}, ok, no, []annotation{{"error", "signed/web.yaml", "1", "unsigned"}}},
		{"instructions for who applies it", web, files{"signed/Kustomization": "patches: []\n", "signed/web.jsonnet": "{}\n"}, ok, no,
			[]annotation{{"error", "signed/Kustomization", "1", "unexpected-file"}, {"error", "signed/web.jsonnet", "1", "unexpected-file"}}},
		{"rules and trust of its own", web, files{".polex.yaml": theirs, "unsigned/sloppy.yaml": sloppy, "signed/api.yaml": another}, no, no,
			append([]annotation{{"error", "signed/api.yaml", "1", "unsigned"}}, sloppyAnnotations...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := template(t, s)
			maps.Copy(files, c.base)
			repository := runner.repository(t, files)
			base := repository.commit(t)
			repository.offer(t, c.head)
			log := repository.run(t, github.Proposed(base))
			log.Ended(t, map[string]string{"validate": c.validate, "verify": c.verify})
			var errs []annotation
			for _, a := range log.annotations {
				if a.Level == "error" {
					errs = append(errs, a)
				}
			}
			slices.SortFunc(errs, func(a, b annotation) int { return strings.Compare(a.File+a.Title, b.File+b.Title) })
			expect.That(t, slices.Equal(errs, c.want), "annotations %+v, not %+v", errs, c.want)
		})
	}
}

// TestProposalRefused: the requester gets a comment in the pull request. There is none for a fork,
// since its token may not write.
func TestProposalRefused(t *testing.T) {
	runner := newRunner(t)
	repository := runner.remoted(t, template(t, sigstore(t, github.MergeFile)))
	api := repository.gitHub(t, true)
	base := repository.tip(t)
	repository.offer(t, map[string]string{"unsigned/sloppy.yaml": sloppy})
	for _, c := range []struct {
		from string
		jobs map[string]string
		said []string
	}{
		{"mallory/" + github.Name, map[string]string{"validate": "failure", "verify": "success"}, nil},
		{github.Owner + "/" + github.Name, map[string]string{"validate": "failure", "verify": "success", "notify-refused": "success"}, []string{"- Refused: `missing-ticket, wildcard-rule`"}},
	} {
		proposed := github.Proposed(base)
		proposed.API = api.URL
		proposed.Payload = strings.Replace(proposed.Payload, `"head": {`, `"number": 1, "head": {"repo": {"full_name": "`+c.from+`"}, `, 1)
		repository.run(t, proposed).Ended(t, c.jobs)
		said(t, api, 1, c.said...)
	}
}

// TestTemplateAsItStands: until all placeholders of the template are replaced, it trusts no signer,
// and nothing is signed.
func TestTemplateAsItStands(t *testing.T) {
	runner, s := newRunner(t), sigstore(t, github.MergeFile)
	files := template(t, s)
	for _, open := range []struct{ filled, left string }{
		{"repository: " + github.Owner + "/" + github.Name, "repository: <owner>/<repository>"},
		{"repositoryID: 1001", "repositoryID: <repository id>"},
		{`"2001"`, `"<owner id>"`},
	} {
		t.Run(open.left, func(t *testing.T) {
			left := maps.Clone(files)
			if left[".polex.yaml"] = strings.Replace(left[".polex.yaml"], open.filled, open.left, 1); left[".polex.yaml"] == files[".polex.yaml"] {
				t.Fatalf("the template does not say %s", open.left)
			}
			repository := runner.remoted(t, left)
			merged := repository.merge(t, map[string]string{"unsigned/web.yaml": narrow})
			log := repository.run(t, pushed(s, repository.gitHub(t, true), merged))
			// polex rejects it before the signing job starts, or that job fails.
			if log.Results["settings"] != "failure" && log.Results["sign"] != "failure" || repository.tip(t) != merged {
				t.Errorf("it ended with %q, and main is at %s, the merge at %s", log.Results, repository.tip(t), merged)
			}
		})
	}
}
