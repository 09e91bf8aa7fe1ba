//go:build e2e

package workflow

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/github"
)

// remoted is a repository with a bare remote, which has its main.
type remoted struct{ *repository }

func (r *runner) remoted(t *testing.T, files map[string]string) *remoted {
	t.Helper()
	made := &remoted{r.repository(t, files)}
	remote := filepath.Join(t.TempDir(), "remote.git")
	if err := made.Push(t.Context(), remote, remote); err != nil {
		t.Fatal(err)
	}
	return made
}

// gitHub starts GitHub's API for the repository.
func (r *remoted) gitHub(t *testing.T, approved bool) *github.API {
	t.Helper()
	api, err := r.API(t.Context(), approved)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Close() })
	return api
}

// merge commits files to main of the remote like a merged pull request, and returns the commit.
func (r *remoted) merge(t *testing.T, files map[string]string) string {
	t.Helper()
	must(t)(r.Propose(t.Context(), "work", files))
	return must(t)(r.Merge(t.Context(), "work"))
}

// tip returns the commit of the remote's main.
func (r *remoted) tip(t *testing.T) string {
	t.Helper()
	return must(t)(r.Tip(t.Context()))
}

// holds lists the files in a folder of the remote's main, except its README.
func (r *remoted) holds(t *testing.T, folder string) []string {
	t.Helper()
	files, err := r.Holds(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// signed checks that the remote's main is one commit ahead of a merge, that there are no pending
// exceptions, and that exactly these files are signed.
func (r *remoted) signed(t *testing.T, merged string, files ...string) {
	t.Helper()
	if parents := r.git(t, "-C", r.Remote, "log", "--format=%P", "-1", "main"); parents != merged {
		t.Errorf("main of the remote is on %s, and not on the merge %s", parents, merged)
	}
	if diff := cmp.Diff(files, r.holds(t, "signed")); diff != "" {
		t.Errorf("signed (-want +got):\n%s", diff)
	}
	if waiting := r.holds(t, "unsigned"); waiting != nil {
		t.Errorf("%q still waits", waiting)
	}
}

// verified checks that all signed files on the remote verify for the sandbox's workflow, and for no
// other workflow, branch or repository.
func (r *remoted) verified(t *testing.T, s *sandbox.Sandbox) {
	t.Helper()
	self := "https://github.com/" + github.Owner + "/" + github.Name + "/" + github.MergeFile + "@refs/heads/main"
	for subject, want := range map[string]int{
		self: 0,
		strings.Replace(self, "merge.yaml", "other.yaml", 1):                      1,
		strings.Replace(self, "heads/main", "heads/dev", 1):                       1,
		strings.Replace(self, "heads/main", "pull/1/merge", 1):                    1,
		strings.Replace(self, "/"+github.Name+"/", "/"+github.Name+"-evil/", 1):   1,
		strings.Replace(self, "/"+github.Owner+"/", "/"+github.Owner+"-evil/", 1): 1,
	} {
		verify := r.Command(t.Context(), filepath.Join(r.Commands, "polex-verify"), "--git", r.Remote, "--ref", "main", "--path", "signed", "--trusted-root", filepath.Join(s.Dir, "trusted_root.json"),
			"--certificate-oidc-issuer", s.IssuerURL, "--certificate-identity", subject)
		out, err := verify.CombinedOutput()
		var status *exec.ExitError
		if err != nil && !errors.As(err, &status) {
			t.Fatal(err)
		}
		if got := verify.ProcessState.ExitCode(); got != want {
			t.Errorf("for %s, polex-verify exits %d, not %d: %s", subject, got, want, out)
		}
	}
}
