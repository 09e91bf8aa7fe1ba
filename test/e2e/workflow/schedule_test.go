//go:build e2e

package workflow

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/test/e2e/github"
	"github.com/polex-dev/polex/test/must"
)

// sealed signs a document as the sandbox's workflow, with a clock that is behind. An exception with
// a lifetime of minutes has expired for every other clock.
func sealed(t *testing.T, s *sandbox.Sandbox, text string, behind time.Duration) string {
	t.Helper()
	return sandboxtest.Files(t, s, sandbox.Identity{}, time.Now().Add(-behind), text)[0]
}

// TestSchedule: one commit removes expired exceptions from the remote. The others stay and are
// verified.
func TestSchedule(t *testing.T) {
	runner, s := newRunner(t), sigstore(t, github.MergeFile)
	repository := runner.remoted(t, template(t, s))
	api := repository.gitHub(t, true)
	night := github.Scheduled()
	night.API = api.URL
	const lives = 3 * time.Second // the rest of a minute; it was valid at the time of the log entry
	short := strings.NewReplacer("expires-in: 7d", `expires-in: 1m, polex.dev/pull-request: "https://github.com/acme/exceptions/pull/6"`, "name: web", "name: old").Replace(narrow)
	soon := strings.NewReplacer("expires-in: 7d", `expires-in: 2d, polex.dev/pull-request: "https://github.com/acme/exceptions/pull/7"`, "name: web", "name: soon").Replace(narrow)
	before := repository.merge(t, map[string]string{
		"signed/old.yaml":  sealed(t, s, short, time.Minute-lives),
		"signed/soon.yaml": sealed(t, s, soon, 0),
		"signed/web.yaml":  sealed(t, s, narrow, 0),
	})

	<-time.After(lives)

	log := repository.run(t, night)
	log.Ended(t, github.All("expire", "notify"))
	if diff := cmp.Diff([]string{"signed/soon.yaml", "signed/web.yaml"}, repository.holds(t, "signed")); diff != "" {
		t.Errorf("signed (-want +got):\n%s", diff)
	}
	if parents := repository.git(t, "-C", repository.Remote, "log", "--format=%P", "-1", "main"); parents != before {
		t.Errorf("main of the remote is on %s, and not on %s", parents, before)
	}
	said(t, api, 6, "**Exception ended**")
	said(t, api, 7, "**Exception expires soon**")
	log.summarizes(t, "| signed/old.yaml:1:1 |", "| signed/web.yaml:1:1 |", "2 documents of commit ")
	repository.git(t, "pull", "--quiet")

	// The rest has nothing expired, and is still verified.
	tip := repository.tip(t)
	log = repository.run(t, night)
	log.Ended(t, github.All("expire", "notify"))
	if repository.tip(t) != tip {
		t.Error("the second night made a commit")
	}
	said(t, api, 6, "**Exception ended**") // not a second time
	said(t, api, 7, "**Exception expires soon**")

	// A manually changed file is found after any merge.
	changed := strings.Replace(repository.git(t, "show", "HEAD:signed/web.yaml"), "names: [web]", "names: [api]", 1)
	repository.merge(t, map[string]string{"signed/web.yaml": changed + "\n"})
	log = repository.run(t, night)
	log.Ended(t, map[string]string{"expire": "failure", "notify": "success"})
	if !slices.Contains(log.annotations, annotation{"error", "signed/web.yaml", "1", "altered"}) {
		t.Errorf("the change is not said: %+v", log.annotations)
	}
}

// TestVerifiedCommits: the template with push-by: github, on a main that accepts only verified commits,
// and on one that accepts only pull requests. Without the input, the push is rejected.
func TestVerifiedCommits(t *testing.T) {
	runner, s := newRunner(t), sigstore(t, github.MergeFile)
	for name, tc := range map[string]struct {
		inputs, permissions string
		rules               []string
		fails               bool
		pulls               int
	}{
		"git":            {rules: []string{"required_signatures"}, fails: true},
		"github":         {inputs: "\n          push-by: github", rules: []string{"required_signatures", "required_linear_history"}},
		"a pull request": {inputs: "\n          push-by: github\n          pull-request: true", permissions: "\n      pull-requests: write", rules: []string{"required_signatures", "pull_request", "merge_queue"}, pulls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			files := template(t, s)
			text := strings.Replace(files[github.MergeFile], "step: commit", "step: commit"+tc.inputs, 1)
			text = strings.Replace(text, "contents: write # to push the commit", "contents: write"+tc.permissions, 1)
			files[github.MergeFile] = text
			repository := runner.remoted(t, files)
			api := repository.gitHub(t, true)
			merged := repository.merge(t, map[string]string{"unsigned/web.yaml": narrow})
			must.Do(t, api.Forge.SetRules(tc.rules...))
			log := repository.run(t, pushed(s, api, merged))
			if want := map[bool]string{true: "failure", false: "success"}[tc.fails]; log.Results["sign"] != "success" || log.Results["commit"] != want {
				t.Fatalf("it ended with %q: %s", log.Results, log.Text)
			}
			if tc.fails || tc.pulls > 0 {
				if tip := repository.tip(t); tip != merged {
					t.Errorf("main has moved to %s", tip)
				}
			} else if committer := repository.git(t, "-C", repository.Remote, "log", "-1", "--format=%cn", "main"); committer != "GitHub" {
				t.Errorf("the commit is by %q", committer)
			}
			pulls := api.Forge.Pulls()
			if len(pulls) != tc.pulls || slices.ContainsFunc(pulls, func(p string) bool { return !strings.HasSuffix(p, ": Sign PolicyException.kyverno.io team-a/web") }) {
				t.Errorf("the pull requests are %q", pulls)
			}
		})
	}
}
