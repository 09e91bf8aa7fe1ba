//go:build e2e

package workflow

import (
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/github"
)

// TestVerifiedCommits: the template with push-by: github, on a main that accepts only verified commits,
// and on one that accepts only pull requests. Without the input, the push is rejected.
func TestVerifiedCommits(t *testing.T) {
	runner := newRunner(t)
	s := sigstore(t, github.MergeFile)
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
			if err := api.Forge.SetRules(tc.rules...); err != nil {
				t.Fatal(err)
			}
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
