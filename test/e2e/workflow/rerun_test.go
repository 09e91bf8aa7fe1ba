//go:build e2e

package workflow

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/test/e2e/github"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestMergeAgain: a user restarts the run of an old merge after main has removed the signed
// exception. Nothing is signed, and there is no artifact to download.
func TestMergeAgain(t *testing.T) {
	runner, s := newRunner(t), sigstore(t, github.MergeFile)
	repository, api, merged := mergedIn(t, runner, template(t, s))
	repository.run(t, pushed(s, api, merged)).Ended(t, allJobs)
	other := filepath.Join(t.TempDir(), "clone")
	repository.git(t, "clone", "--quiet", repository.Remote, other)
	for _, args := range [][]string{
		{"rm", "--quiet", "signed/web.yaml"},
		{"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message", "Withdraw it"},
		{"push", "--quiet"},
	} {
		repository.git(t, append([]string{"-C", other}, args...)...)
	}
	tip := repository.tip(t)

	log := repository.run(t, pushed(s, api, merged))
	if log.Results["sign"] != "success" || log.Results["commit"] == "success" || repository.tip(t) != tip {
		t.Errorf("it ended with %q, and main is at %s, not %s: %s", log.Results, repository.tip(t), tip, log.Text)
	}
	expect.That(t, slices.Contains(log.annotations, annotation{"warning", "unsigned/web.yaml", "1", "gone-since"}),
		"it does not say that nothing waits: %+v", log.annotations)
	expect.That(t, !strings.Contains(log.Text, "title=signed"), "it signed again: %s", log.Text)
}

// TestProposalByTarget: a pull request is checked with the current trust policy of main, not with
// that of the older base.sha in its event.
func TestProposalByTarget(t *testing.T) {
	runner, s := newRunner(t), sigstore(t, github.MergeFile)
	files := template(t, s)
	now := files[".polex.yaml"]
	files[".polex.yaml"] = strings.ReplaceAll(strings.Replace(now, "require: [reason, ticket]", "require: []", 1), "merge.yaml@refs/heads/main", "other.yaml@refs/heads/main")
	repository := runner.repository(t, files)
	old := repository.commit(t)
	repository.write(t, map[string]string{".polex.yaml": now, "signed/web.yaml": sealed(t, s, narrow, 0)})
	repository.commit(t)
	lacking := strings.Replace(another, ", polex.dev/ticket: SEC-1", "", 1)
	repository.offer(t, map[string]string{"unsigned/api.yaml": lacking})
	log := repository.run(t, github.Proposed(old))
	log.Ended(t, map[string]string{"validate": "failure", "verify": "success"})
	expect.That(t, slices.Contains(log.annotations, annotation{"error", "unsigned/api.yaml", "6", "missing-ticket"}),
		"it was judged by other rules than main's: %+v", log.annotations)

	// Without the merge commit, the target is unknown.
	repository.git(t, "switch", "--quiet", "work")
	log = repository.run(t, github.Proposed(old))
	log.Ended(t, map[string]string{"validate": "failure", "verify": "failure"})
	expect.That(t, strings.Contains(log.Text, "the merge of the pull request into its target branch"),
		"it does not say why: %s", log.Text)
}

// TestMergePlanted: an attacker pushes the branch of the pull request before the workflow does,
// with other content. The workflow does not use that branch.
func TestMergePlanted(t *testing.T) {
	runner, s := newRunner(t), sigstore(t, github.MergeFile)
	files := template(t, s)
	const commit = "          step: commit\n"
	if files[github.MergeFile] = strings.Replace(files[github.MergeFile], commit, commit+"          pull-request: true\n", 1); !strings.Contains(files[github.MergeFile], "pull-request: true") {
		t.Fatal("the template has no step: commit")
	}
	repository, api, merged := mergedIn(t, runner, files)
	other := filepath.Join(t.TempDir(), "clone")
	repository.git(t, "clone", "--quiet", repository.Remote, other)
	branch := "polex/signed-" + merged[:12]
	repository.git(t, "-C", other, "switch", "--quiet", "--create", branch)
	repository.git(t, "-C", other, "mv", "unsigned/web.yaml", "signed/web.yaml")
	wider := strings.Replace(narrow, "names: [web]", "names: ['*']", 1)
	must.Do(t, os.WriteFile(filepath.Join(other, "signed", "web.yaml"), []byte(wider), 0o600))
	repository.git(t, "-C", other, "-c", "user.name=github-actions[bot]", "-c", "user.email=41898282+github-actions[bot]@users.noreply.github.com",
		"commit", "--quiet", "--all", "--message", "Sign PolicyException.kyverno.io team-a/web\n\nunsigned/web.yaml -> signed/web.yaml\n\nPolex-Source-Commit: "+merged)
	repository.git(t, "-C", other, "push", "--quiet", "origin", branch)
	planted := repository.git(t, "-C", repository.Remote, "rev-parse", branch)

	log := repository.run(t, pushed(s, api, merged))
	if log.Results["sign"] != "success" || log.Results["commit"] != "failure" || log.Results["notify"] == "success" {
		t.Errorf("it ended with %q: %s", log.Results, log.Text)
	}
	expect.That(t, strings.Contains(log.Text, "the branch for the pull request exists with different content"),
		"it does not say why: %s", log.Text)
	expect.Is(t, "the branch", planted, repository.git(t, "-C", repository.Remote, "rev-parse", branch))

	// After its deletion, the workflow pushes its own branch and uses it.
	repository.git(t, "-C", repository.Remote, "branch", "--quiet", "--delete", "--force", branch)
	repository.run(t, pushed(s, api, merged))
	own := repository.git(t, "-C", repository.Remote, "rev-parse", branch)
	expect.That(t, own != planted && repository.git(t, "-C", repository.Remote, "rev-parse", own+"^") == merged,
		"the workflow pushed %s", own)
	log = repository.run(t, pushed(s, api, merged))
	expect.That(t, log.Results["commit"] == "success" && strings.Contains(log.Text, "has it already, as "+own),
		"the second run ended with %q: %s", log.Results, log.Text)
}

// sealed signs a document as the sandbox's workflow, with a clock that is behind. An exception with
// a lifetime of minutes has expired for every other clock.
func sealed(t *testing.T, s *sandbox.Sandbox, text string, behind time.Duration) string {
	t.Helper()
	return sandboxtest.Files(t, s, sandbox.Identity{}, time.Now().Add(-behind), text)[0]
}

// TestSchedule: one commit removes expired exceptions from the remote. The others stay and are verified.
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
	expect.Equal(t, "signed", []string{"signed/soon.yaml", "signed/web.yaml"}, repository.holds(t, "signed"))
	expect.Is(t, "main of the remote is on",
		before, repository.git(t, "-C", repository.Remote, "log", "--format=%P", "-1", "main"))
	said(t, api, 6, "**Exception ended**")
	said(t, api, 7, "**Exception expires soon**")
	log.summarizes(t, "| signed/old.yaml:1:1 |", "| signed/web.yaml:1:1 |", "2 documents of commit ")
	repository.git(t, "pull", "--quiet")

	// The rest has nothing expired, and is still verified.
	tip := repository.tip(t)
	log = repository.run(t, night)
	log.Ended(t, github.All("expire", "notify"))
	expect.That(t, repository.tip(t) == tip, "the second night made a commit")
	said(t, api, 6, "**Exception ended**") // not a second time
	said(t, api, 7, "**Exception expires soon**")

	// A manually changed file is found after any merge.
	changed := strings.Replace(repository.git(t, "show", "HEAD:signed/web.yaml"), "names: [web]", "names: [api]", 1)
	repository.merge(t, map[string]string{"signed/web.yaml": changed + "\n"})
	log = repository.run(t, night)
	log.Ended(t, map[string]string{"expire": "failure", "notify": "success"})
	expect.That(t, slices.Contains(log.annotations, annotation{"error", "signed/web.yaml", "1", "altered"}),
		"the change is not said: %+v", log.annotations)
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
			repository, api, merged := mergedIn(t, runner, files)
			must.Do(t, api.Forge.SetRules(tc.rules...))
			log := repository.run(t, pushed(s, api, merged))
			if want := map[bool]string{true: "failure", false: "success"}[tc.fails]; log.Results["sign"] != "success" || log.Results["commit"] != want {
				t.Fatalf("it ended with %q: %s", log.Results, log.Text)
			}
			if tc.fails || tc.pulls > 0 {
				expect.Is(t, "main", merged, repository.tip(t))
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
