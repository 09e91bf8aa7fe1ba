//go:build e2e

package workflow

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/github"
)

// runner runs workflows for a test.
type runner struct{ *github.Runner }

func newRunner(t *testing.T) *runner {
	t.Helper()
	made, err := github.NewRunner(t.Context(), github.Options{Root: fixture.FromRoot("."), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return &runner{made}
}

// repository is a repository with workflows to run.
type repository struct{ *github.Repository }

// repository creates one with files, and without a commit.
func (r *runner) repository(t *testing.T, files map[string]string) *repository {
	t.Helper()
	made, err := r.Repository(t.Context(), t.TempDir(), files)
	if err != nil {
		t.Fatal(err)
	}
	return &repository{made}
}

func (r *repository) write(t *testing.T, files map[string]string) {
	t.Helper()
	if err := r.Write(files); err != nil {
		t.Fatal(err)
	}
}

// commit commits all files, and returns the commit.
func (r *repository) commit(t *testing.T) string {
	t.Helper()
	return must(t)(r.Commit(t.Context()))
}

// offer commits files on a branch, and checks out GitHub's merge commit for the runs of a pull
// request.
func (r *repository) offer(t *testing.T, files map[string]string) string {
	t.Helper()
	must(t)(r.Propose(t.Context(), "work", files))
	return must(t)(r.Offer(t.Context(), "work"))
}

func (r *repository) git(t *testing.T, args ...string) string {
	t.Helper()
	return must(t)(r.Git(t.Context(), args...))
}

// run runs a workflow.
func (r *repository) run(t *testing.T, p github.Play) played {
	t.Helper()
	log, err := r.Play(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
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
		if !slices.ContainsFunc(p.Summaries, func(s string) bool { return strings.Contains(s, part) }) {
			t.Errorf("the summary does not say %q: %q", part, p.Summaries)
		}
	}
}

// ended checks the result of each job.
func (p played) ended(t *testing.T, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, p.Results); diff != "" {
		t.Fatalf("jobs (-want +got):\n%s\n%s", diff, p.Text)
	}
}

// must returns the result, and fails the test at an error.
func must(t *testing.T) func(string, error) string {
	return func(text string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
}

// contents returns a file of this repository.
func contents(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(fixture.FromRoot(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
