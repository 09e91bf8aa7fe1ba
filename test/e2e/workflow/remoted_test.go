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
)

// remoted is a repository with a bare remote, which it has pushed its main to.
type remoted struct {
	*repository
	remote string
}

func (r *runner) remoted(t *testing.T, files map[string]string) *remoted {
	t.Helper()
	made := &remoted{r.repository(t, files), filepath.Join(t.TempDir(), "remote.git")}
	made.commit(t)
	// Who pushes says who commits; here it is nobody.
	made.git(t, "config", "--unset", "user.name")
	made.git(t, "config", "--unset", "user.email")
	made.git(t, "init", "--quiet", "--bare", "--initial-branch=main", made.remote)
	made.git(t, "remote", "add", "origin", made.remote)
	made.git(t, "push", "--quiet", "--set-upstream", "origin", "main")
	return made
}

// merge puts files on main of the remote as the merge of a pull request does, and
// returns its commit.
func (r *remoted) merge(t *testing.T, files map[string]string) string {
	t.Helper()
	as := func(author string, args ...string) {
		t.Helper()
		r.git(t, append([]string{"-c", "user.name=" + author, "-c", "user.email=" + author + "@example.com"}, args...)...)
	}
	r.git(t, "switch", "--quiet", "--create", "work")
	r.write(t, files)
	r.git(t, "add", "--all")
	as("alice", "commit", "--quiet", "--message", "Ask for it")
	r.git(t, "switch", "--quiet", "main")
	as("bob", "merge", "--quiet", "--no-ff", "--message", "Merge a pull request", "work")
	r.git(t, "branch", "--quiet", "--delete", "work")
	r.git(t, "push", "--quiet")
	return r.git(t, "rev-parse", "HEAD")
}

// tip is where main of the remote is.
func (r *remoted) tip(t *testing.T) string {
	t.Helper()
	return r.git(t, "-C", r.remote, "rev-parse", "main")
}

// holds lists what a folder of the remote's main holds, but for its README.
func (r *remoted) holds(t *testing.T, folder string) []string {
	t.Helper()
	var files []string
	for file := range strings.SplitSeq(r.git(t, "-C", r.remote, "ls-tree", "-r", "--name-only", "main", folder+"/"), "\n") {
		if file != "" && file != folder+"/README.md" {
			files = append(files, file)
		}
	}
	return files
}

// signed checks that main of the remote is one commit further than a merge, that
// nothing waits any more, and that these files and no others are signed.
func (r *remoted) signed(t *testing.T, merged string, files ...string) {
	t.Helper()
	if parents := r.git(t, "-C", r.remote, "log", "--format=%P", "-1", "main"); parents != merged {
		t.Errorf("main of the remote is on %s, and not on the merge %s", parents, merged)
	}
	if diff := cmp.Diff(files, r.holds(t, "signed")); diff != "" {
		t.Errorf("signed (-want +got):\n%s", diff)
	}
	if waiting := r.holds(t, "unsigned"); waiting != nil {
		t.Errorf("%q still waits", waiting)
	}
}

// verified checks that everything that is signed on the remote verifies for the
// workflow that the sandbox plays, and for no other workflow, branch or
// repository.
func (r *remoted) verified(t *testing.T, s *sandbox.Sandbox) {
	t.Helper()
	self := "https://github.com/" + owner + "/" + name + "/" + mergeFile + "@refs/heads/main"
	for subject, want := range map[string]int{
		self: 0,
		strings.Replace(self, "merge.yaml", "other.yaml", 1):        1,
		strings.Replace(self, "heads/main", "heads/dev", 1):         1,
		strings.Replace(self, "heads/main", "pull/1/merge", 1):      1,
		strings.Replace(self, "/"+name+"/", "/"+name+"-evil/", 1):   1,
		strings.Replace(self, "/"+owner+"/", "/"+owner+"-evil/", 1): 1,
	} {
		verify := r.command(t.Context(), filepath.Join(r.commands, "polex-verify"), "--git", r.remote, "--ref", "main", "--path", "signed", "--trusted-root", filepath.Join(s.Dir, "trusted_root.json"),
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
