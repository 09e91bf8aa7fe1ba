//go:build e2e

package workflow

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/github"
)

// TestMergeClosed runs the workflow of examples/github-closed unchanged. It checks out a commit, not a
// branch.
func TestMergeClosed(t *testing.T) {
	runner := newRunner(t)
	s := sigstore(t, github.MergeFile)
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
	token, err := sandbox.RequestToken(t.Context(), s.Dir, sandbox.Identity{EventName: "pull_request"}, "sigstore")
	if err != nil {
		t.Fatal(err)
	}
	closed := github.Closed(merged, repository.Remote)
	closed.Env, closed.API = append(closed.Env, "SIGSTORE_ID_TOKEN="+token), api.URL
	log := repository.run(t, closed)
	log.ended(t, map[string]string{"sign": "success", "commit": "success"})
	if !strings.Contains(log.Text, "the work tree is not on origin/main") {
		t.Errorf("its checkout was on a branch: %s", log.Text)
	}
	repository.signed(t, merged, "signed/web.yaml")
	repository.verified(t, s)
}
