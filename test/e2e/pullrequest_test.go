//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
  annotations: {polex.dev/expires-in: 7d, polex.dev/ticket: SEC-1}
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

// events are what GitHub says of each, as far as it names the base.
var events = map[string]string{
	"pull_request": `{"number": 1, "pull_request": {"base": {"ref": "main", "sha": %q}, "head": {"ref": "work"}}}`,
	"merge_group":  `{"merge_group": {"base_ref": "refs/heads/main", "base_sha": %q}}`,
}

// annotation is what GitHub would show on a line of the change.
type annotation struct{ Level, File, Line, Title string }

var sloppyAnnotations = []annotation{
	{"error", "unsigned/sloppy.yaml", "6", "missing-ticket"},
	{"error", "unsigned/sloppy.yaml", "10", "wildcard-rule"},
}

// pullRequests are changes of a repository that holds a narrow exception, and
// what has to be said of them: nothing of one that passes.
var pullRequests = []struct {
	name       string
	event      string
	base, head map[string]string
	want       []annotation
	summary    []string // parts of the job's
}{
	{"an exception that is narrow", "pull_request",
		map[string]string{".polex.yaml": strictRules}, map[string]string{"unsigned/api.yaml": another},
		nil, []string{"1 document &#40;and 1 unchanged file&#41;: all passed"}},
	{"an exception that is sloppy", "pull_request",
		map[string]string{".polex.yaml": strictRules}, map[string]string{"unsigned/sloppy.yaml": sloppy},
		sloppyAnnotations, []string{"1 document &#40;and 1 unchanged file&#41;: 2 refusals", "| unsigned/sloppy.yaml:6:3 |", "| missing-ticket |", "| wildcard-rule |"}},
	{"one that comes with looser rules", "pull_request",
		map[string]string{".polex.yaml": strictRules}, map[string]string{".polex.yaml": looseRules, "unsigned/sloppy.yaml": sloppy},
		sloppyAnnotations, []string{": 2 refusals"}},
	{"one that comes after looser rules", "pull_request",
		map[string]string{".polex.yaml": looseRules}, map[string]string{"unsigned/sloppy.yaml": sloppy},
		nil, []string{": all passed"}},
	{"one that waits in a merge queue with looser rules", "merge_group",
		map[string]string{".polex.yaml": strictRules}, map[string]string{".polex.yaml": looseRules, "unsigned/sloppy.yaml": sloppy},
		sloppyAnnotations, []string{"1 document &#40;and 1 unchanged file&#41;: 2 refusals"}},
}

// TestActionInPullRequests runs actions/validate by the workflow of its README,
// as a runner would.
func TestActionInPullRequests(t *testing.T) {
	runner := newRunner(t)
	for _, request := range pullRequests {
		t.Run(request.name, func(t *testing.T) {
			repository := runner.repository(t, request.event, request.base)
			base := repository.commit(t)
			repository.write(t, request.head)
			repository.commit(t)
			log := repository.run(t, request.event, fmt.Sprintf(events[request.event], base))
			if want := map[bool]string{true: "success", false: "failure"}[request.want == nil]; log.result != want {
				t.Errorf("the job ended with %q, not %q", log.result, want)
			}
			if diff := cmp.Diff(request.want, log.annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			for _, part := range request.summary {
				if !slices.ContainsFunc(log.summaries, func(s string) bool { return strings.Contains(s, part) }) {
					t.Errorf("the summary does not say %q: %q", part, log.summaries)
				}
			}
			if t.Failed() {
				t.Log(log.text)
			}
		})
	}
}
