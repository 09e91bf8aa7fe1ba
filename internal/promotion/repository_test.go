package promotion_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/internal/promotion/deliver"
	"github.com/polex-dev/polex/pkg/exception"
)

// repository is a real Git repository, driven by git.
type repository struct {
	tb    testing.TB
	home  string
	Dir   string
	clone *commit.Clone // the open clone
}

var committedAt = time.Date(2026, 3, 1, 10, 30, 15, 0, time.UTC)

// newRepository makes a repository with one commit that has the files. A name that ends in a slash
// is a folder that is only on disk.
func newRepository(tb testing.TB, files map[string]string) *repository {
	tb.Helper()
	r := &repository{tb: tb, home: tb.TempDir(), Dir: tb.TempDir()}
	r.git("init", "--quiet", "--initial-branch=main")
	r.write("README.md", "# Exceptions\n")
	for name, content := range files {
		r.write(name, content)
	}
	r.commit("Ask for exceptions")
	return r
}

// run runs git with the configuration of the repository only.
func (r *repository) run(dir string, args ...string) (string, error) {
	r.tb.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+r.home, "XDG_CONFIG_HOME="+r.home, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r *repository) git(args ...string) string {
	r.tb.Helper()
	out, err := r.run(r.Dir, args...)
	if err != nil {
		r.tb.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (r *repository) path(name string) string { return filepath.Join(r.Dir, filepath.FromSlash(name)) }

func (r *repository) write(name, content string) {
	r.tb.Helper()
	if err := os.MkdirAll(filepath.Dir(r.path(name)), 0o755); err != nil {
		r.tb.Fatal(err)
	}
	if strings.HasSuffix(name, "/") {
		if err := os.MkdirAll(r.path(name), 0o755); err != nil {
			r.tb.Fatal(err)
		}
		return
	}
	if err := os.WriteFile(r.path(name), []byte(content), 0o644); err != nil {
		r.tb.Fatal(err)
	}
}

func (r *repository) read(name string) string {
	r.tb.Helper()
	content, err := os.ReadFile(r.path(name))
	if err != nil {
		r.tb.Fatal(err)
	}
	return string(content)
}

func (r *repository) commit(message string) {
	r.tb.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "--message="+message)
}

// commitAt commits the staged changes at a time.
func (r *repository) commitAt(message string, at time.Time) {
	r.tb.Helper()
	cmd := exec.Command("git", "-C", r.Dir, "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "--quiet", "--message="+message)
	cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE="+at.Format(time.RFC3339))
	r.must(cmd.Run())
}

func (r *repository) head() string {
	r.tb.Helper()
	return strings.TrimSpace(r.git("rev-parse", "HEAD"))
}

// unchanged checks that an attempt left nothing in the work tree, the index or the history.
func (r *repository) unchanged(head string) {
	r.tb.Helper()
	if got := r.head(); got != head {
		r.tb.Errorf("HEAD is %s, want %s", got, head)
	}
	if status := r.git("status", "--porcelain", "--untracked-files=all"); status != "" {
		r.tb.Errorf("git status:\n%s", status)
	}
	r.fsck()
}

func (r *repository) fsck() {
	r.tb.Helper()
	if out, err := r.run(r.Dir, "fsck", "--strict", "--no-dangling", "--full"); err != nil || strings.Contains(out, "error") || strings.Contains(out, "warning") {
		r.tb.Errorf("git fsck: %v\n%s", err, out)
	}
}

// queue is a queue with its plan on HEAD.
type queue struct {
	*promotion.Plan
	Queue *promotion.Queue
}

// try opens the clone at a folder and makes the plan on HEAD.
func (r *repository) try(dir string, o promotion.Options) (*queue, error) {
	r.tb.Helper()
	if r.clone != nil {
		r.clone.Close()
	}
	clone, err := commit.Open(commit.Options{Dir: dir})
	r.clone = clone
	if err != nil {
		return nil, err
	}
	r.tb.Cleanup(func() { clone.Close() })
	q := &queue{}
	if q.Queue, err = promotion.Open(clone, o); err != nil {
		return nil, err
	}
	head, err := clone.Head()
	if err != nil {
		return nil, err
	}
	q.Plan, err = q.Queue.Plan(head.Commit)
	return q, err
}

// open makes the plan, which must succeed.
func (r *repository) open() *queue {
	r.tb.Helper()
	q, err := r.try(r.Dir, promotion.Options{})
	if err != nil {
		r.tb.Fatalf("open the queue: %v", err)
	}
	return q
}

// apply makes the promotion with the signed documents, and commits it. It
// returns the moves and the commit.
func (q *queue) apply(sealed []*exception.Document, by *commit.Author) (moves []string, hash string, err error) {
	promotion, err := q.Signed(sealed)
	if err != nil {
		return nil, "", err
	}
	done, err := promotion.Make(context.Background(), deliver.To{Way: deliver.Commit, By: *by})
	if err != nil {
		return nil, "", err
	}
	for _, m := range done.Moves {
		moves = append(moves, m.From+" -> "+m.To)
	}
	if !done.Commit.IsZero() {
		hash = done.Commit.String()
	}
	return moves, hash, nil
}

func author() *commit.Author {
	return &commit.Author{Name: "Polex Bot", Email: "bot@example.com", When: committedAt}
}

func exceptionText(name string) string {
	return fmt.Sprintf(`# why %[1]s
apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: %[1]s
  namespace: team-a
spec:
  exceptions:
  - policyName: p
    ruleNames: [r]
  match:
    any:
    - resources:
        kinds: [Pod]
`, name)
}

// stamp replaces signing in tests: it adds an annotation.
func stamp(tb testing.TB, docs []*exception.Document) []*exception.Document {
	tb.Helper()
	stamped := make([]*exception.Document, len(docs))
	for i, doc := range docs {
		var err error
		stamped[i], err = doc.Add(exception.Addition{Path: exception.Path{"metadata", "annotations", "example.com/sealed"}, Value: "true"})
		if err != nil {
			tb.Fatal(err)
		}
	}
	return stamped
}

// stamped is the text of a file after stamp.
func stamped(text string) string {
	return strings.ReplaceAll(text, "metadata:\n", "metadata:\n  annotations:\n    example.com/sealed: \"true\"\n")
}
