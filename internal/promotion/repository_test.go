package promotion_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/internal/promotion/deliver"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/gitrepo"
	"github.com/polex-dev/polex/test/must"
)

// repository is a real Git repository.
type repository struct {
	*gitrepo.Repository
	clone *commit.Clone // the open clone
}

func repositoryAt(tb testing.TB, home, dir string) *repository {
	return &repository{Repository: &gitrepo.Repository{TB: tb, Home: home, Dir: dir}}
}

var committedAt = time.Date(2026, 3, 1, 10, 30, 15, 0, time.UTC)

// newRepository makes a repository with one commit that has the files. A name that ends in a slash
// is a folder that is only on disk.
func newRepository(tb testing.TB, files map[string]string) *repository {
	tb.Helper()
	r := repositoryAt(tb, tb.TempDir(), tb.TempDir())
	r.Write("README.md", "# Exceptions\n")
	r.Init("Ask for exceptions", files)
	return r
}

// commitAt commits the staged changes at a time.
func (r *repository) commitAt(message string, at time.Time) {
	r.TB.Helper()
	cmd := exec.Command("git", "-C", r.Dir, "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "--quiet", "--message="+message)
	cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE="+at.Format(time.RFC3339))
	must.Do(r.TB, cmd.Run())
}

// unchanged checks that an attempt left nothing in the work tree, the index or the history.
func (r *repository) unchanged(head string) {
	r.TB.Helper()
	expect.Is(r.TB, "HEAD", head, r.Head())
	expect.Equal(r.TB, "git status", "", r.Git("status", "--porcelain", "--untracked-files=all"))
	r.Fsck()
}

// queue is a queue with its plan on HEAD.
type queue struct {
	*promotion.Plan
	Queue *promotion.Queue
}

// try opens the clone at a folder and makes the plan on HEAD.
func (r *repository) try(dir string, o promotion.Options) (*queue, error) {
	r.TB.Helper()
	if r.clone != nil {
		r.clone.Close()
	}
	clone, err := commit.Open(commit.Options{Dir: dir})
	r.clone = clone
	if err != nil {
		return nil, err
	}
	r.TB.Cleanup(func() { clone.Close() })
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
	r.TB.Helper()
	q, err := r.try(r.Dir, promotion.Options{})
	must.That(r.TB, err == nil, "open the queue: %v", err)
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
		mark := exception.Addition{Path: exception.Path{"metadata", "annotations", "example.com/sealed"}, Value: "true"}
		stamped[i] = must.Get(doc.Add(mark))(tb)
	}
	return stamped
}

// stamped is the text of a file after stamp.
func stamped(text string) string {
	return strings.ReplaceAll(text, "metadata:\n", "metadata:\n  annotations:\n    example.com/sealed: \"true\"\n")
}
