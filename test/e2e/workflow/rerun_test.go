//go:build e2e

package workflow

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/github"
	"github.com/polex-dev/polex/test/must"
)

// TestMergeAgain: a user restarts the run of an old merge after main has removed the signed
// exception. Nothing is signed, and there is no artifact to download.
func TestMergeAgain(t *testing.T) {
	runner, s := newRunner(t), sigstore(t, github.MergeFile)
	repository := runner.remoted(t, template(t, s))
	api := repository.gitHub(t, true)
	merged := repository.merge(t, map[string]string{"unsigned/web.yaml": narrow})
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
	if !slices.Contains(log.annotations, annotation{"warning", "unsigned/web.yaml", "1", "gone-since"}) {
		t.Errorf("it does not say that nothing waits: %+v", log.annotations)
	}
	if strings.Contains(log.Text, "title=signed") {
		t.Errorf("it signed again: %s", log.Text)
	}
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
	if !slices.Contains(log.annotations, annotation{"error", "unsigned/api.yaml", "6", "missing-ticket"}) {
		t.Errorf("it was judged by other rules than main's: %+v", log.annotations)
	}

	// Without the merge commit, the target is unknown.
	repository.git(t, "switch", "--quiet", "work")
	log = repository.run(t, github.Proposed(old))
	log.Ended(t, map[string]string{"validate": "failure", "verify": "failure"})
	if !strings.Contains(log.Text, "the merge of the pull request into its target branch") {
		t.Errorf("it does not say why: %s", log.Text)
	}
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
	repository := runner.remoted(t, files)
	api := repository.gitHub(t, true)
	merged := repository.merge(t, map[string]string{"unsigned/web.yaml": narrow})
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
	if !strings.Contains(log.Text, "the branch for the pull request exists with different content") {
		t.Errorf("it does not say why: %s", log.Text)
	}
	if now := repository.git(t, "-C", repository.Remote, "rev-parse", branch); now != planted {
		t.Errorf("the branch was written over: %s", now)
	}

	// After its deletion, the workflow pushes its own branch and uses it.
	repository.git(t, "-C", repository.Remote, "branch", "--quiet", "--delete", "--force", branch)
	repository.run(t, pushed(s, api, merged))
	own := repository.git(t, "-C", repository.Remote, "rev-parse", branch)
	if own == planted || repository.git(t, "-C", repository.Remote, "rev-parse", own+"^") != merged {
		t.Errorf("the workflow pushed %s", own)
	}
	log = repository.run(t, pushed(s, api, merged))
	if log.Results["commit"] != "success" || !strings.Contains(log.Text, "has it already, as "+own) {
		t.Errorf("the second run ended with %q: %s", log.Results, log.Text)
	}
}
