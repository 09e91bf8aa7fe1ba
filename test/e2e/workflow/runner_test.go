//go:build e2e

package workflow

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/github"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// runner runs workflows for a test.
type runner struct{ *github.Runner }

func newRunner(t *testing.T) *runner {
	t.Helper()
	made := must.Get(github.NewRunner(t.Context(), github.Options{Root: fixture.FromRoot("."), Dir: t.TempDir()}))(t)
	return &runner{made}
}

// repository is a repository with workflows to run.
type repository struct{ *github.Repository }

// repository creates one with files, and without a commit.
func (r *runner) repository(t *testing.T, files map[string]string) *repository {
	t.Helper()
	return &repository{must.Get(r.Repository(t.Context(), t.TempDir(), files))(t)}
}

func (r *repository) write(t *testing.T, files map[string]string) {
	t.Helper()
	must.Do(t, r.Write(files))
}

// commit commits all files, and returns the commit.
func (r *repository) commit(t *testing.T) string {
	t.Helper()
	return must.Get(r.Commit(t.Context()))(t)
}

// offer commits files on a branch, and checks out GitHub's merge commit for the runs of a pull request.
func (r *repository) offer(t *testing.T, files map[string]string) string {
	t.Helper()
	must.Get(r.Propose(t.Context(), "work", files))(t)
	return must.Get(r.Offer(t.Context(), "work"))(t)
}

func (r *repository) git(t *testing.T, args ...string) string {
	t.Helper()
	return must.Get(r.Git(t.Context(), args...))(t)
}

// run runs a workflow.
func (r *repository) run(t *testing.T, p github.Play) played {
	t.Helper()
	log := must.Get(r.Play(t.Context(), p))(t)
	left := played{Log: log}
	for _, a := range log.Annotations {
		left.annotations = append(left.annotations, annotation(a))
	}
	return left
}

// played is the result of a run.
type played struct {
	*github.Log
	annotations []annotation
}

// annotation is GitHub's message at a line of the change.
type annotation github.Annotation

// summarizes checks that the jobs' summaries contain each of the parts.
func (p played) summarizes(t *testing.T, parts ...string) {
	t.Helper()
	for _, part := range parts {
		expect.That(t, slices.ContainsFunc(p.Summaries, func(s string) bool { return strings.Contains(s, part) }),
			"the summary does not say %q: %q", part, p.Summaries)
	}
}

// contents returns a file of this repository.
func contents(t *testing.T, name string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(fixture.FromRoot(name)))(t))
}

// sigstore starts a sandbox for a workflow of that repository, by its file.
func sigstore(t *testing.T, workflow string) *sandbox.Sandbox {
	t.Helper()
	s := must.Get(sandbox.Start(t.Context(), sandbox.Options{Dir: t.TempDir(), RekorVersions: []int{1},
		Identity: sandbox.Identity{Repository: github.Owner + "/" + github.Name, WorkflowFile: workflow}}))(t)
	t.Cleanup(func() { expect.NoError(t, s.Close()) })
	return s
}

// template returns the files of examples/github for that Sigstore.
func template(t *testing.T, s *sandbox.Sandbox) map[string]string {
	t.Helper()
	return must.Get(github.Template(fixture.FromRoot("."), github.Sigstore{IssuerURL: s.IssuerURL,
		FulcioURL: s.FulcioURL, RekorURL: s.RekorURL, TrustedRootPath: s.TrustedRootPath}))(t)
}

// remoted is a repository with a bare remote, which has its main.
type remoted struct{ *repository }

func (r *runner) remoted(t *testing.T, files map[string]string) *remoted {
	t.Helper()
	made := &remoted{r.repository(t, files)}
	remote := filepath.Join(t.TempDir(), "remote.git")
	must.Do(t, made.Push(t.Context(), remote, remote))
	return made
}

// mergedIn is a repository with these files, its API, and a merge of one request.
func mergedIn(t *testing.T, r *runner, files map[string]string) (*remoted, *github.API, string) {
	t.Helper()
	repository := r.remoted(t, files)
	api := repository.gitHub(t, true)
	return repository, api, repository.merge(t, map[string]string{"unsigned/web.yaml": narrow})
}

// gitHub starts GitHub's API for the repository.
func (r *remoted) gitHub(t *testing.T, approved bool) *github.API {
	t.Helper()
	api := must.Get(r.API(t.Context(), approved))(t)
	t.Cleanup(func() { _ = api.Close() })
	return api
}

// merge commits files to main of the remote like a merged pull request, and returns the commit.
func (r *remoted) merge(t *testing.T, files map[string]string) string {
	t.Helper()
	must.Get(r.Propose(t.Context(), "work", files))(t)
	return must.Get(r.Merge(t.Context(), "work"))(t)
}

// tip returns the commit of the remote's main.
func (r *remoted) tip(t *testing.T) string {
	t.Helper()
	return must.Get(r.Tip(t.Context()))(t)
}

// holds lists the files in a folder of the remote's main, except its README.
func (r *remoted) holds(t *testing.T, folder string) []string {
	t.Helper()
	return must.Get(r.Holds(t.Context(), folder))(t)
}

// signed checks that the remote's main is one commit ahead of a merge, that there are no pending
// exceptions, and that exactly these files are signed.
func (r *remoted) signed(t *testing.T, merged string, files ...string) {
	t.Helper()
	expect.Is(t, "main of the remote is on", merged, r.git(t, "-C", r.Remote, "log", "--format=%P", "-1", "main"))
	expect.Equal(t, "signed", files, r.holds(t, "signed"))
	waiting := r.holds(t, "unsigned")
	expect.That(t, waiting == nil, "%q still waits", waiting)
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
		must.That(t, err == nil || errors.As(err, &status), "%v", err)
		got := verify.ProcessState.ExitCode()
		expect.That(t, got == want, "for %s, polex-verify exits %d, not %d: %s", subject, got, want, out)
	}
}
