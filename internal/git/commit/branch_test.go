package commit_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
)

var somebody = commit.Author{Name: "A", Email: "a@example.com", When: time.Unix(1_700_000_000, 0)}

// writing proposes one file.
func writing(name, content string) commit.Propose {
	return func(*git.Tree) (commit.Change, error) {
		return commit.Change{Write: map[string][]byte{name: []byte(content)}, Message: "Ask\n"}, nil
	}
}

func open(t *testing.T, r *repository, step func(string) error) *commit.Clone {
	t.Helper()
	clone, err := commit.Open(commit.Options{Dir: r.dir, Step: step})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = clone.Close() })
	return clone
}

// TestBranch: the branch contains the change, and nothing else has changed.
func TestBranch(t *testing.T) {
	r := newRepository(t, waiting)
	r.write("unsigned/a.yaml", "work in progress\n")
	head := r.head()
	clone := open(t, r, nil)
	made, err := clone.Branch(t.Context(), somebody, "polex/web", writing("unsigned/web.yaml", "web: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if r.head() != head || r.line("rev-parse", "--abbrev-ref", "HEAD") != "main" || r.git("status", "--porcelain") != " M unsigned/a.yaml\n" {
		t.Errorf("the work tree has moved: %s", r.git("status", "--porcelain"))
	}
	if at := r.line("rev-parse", "polex/web"); at != made.Commit.String() || r.line("rev-parse", "polex/web^") != head || r.git("show", "polex/web:unsigned/web.yaml") != "web: 1\n" {
		t.Errorf("the branch is at %s, and %s was made", at, made.Commit)
	}
	r.git("fsck", "--strict")

	// A second call succeeds, also after git pack-refs and with a newer commit on the branch.
	r.git("pack-refs", "--all")
	again, err := clone.Branch(t.Context(), somebody, "polex/web", writing("unsigned/web.yaml", "web: 1\n"))
	if err != nil || again.Commit != made.Commit || again.Change.Message != "" {
		t.Errorf("again: %+v, %v", again, err)
	}
	for name, content := range map[string]string{"unsigned/web.yaml": "web: 2\n", "unsigned/api.yaml": "web: 1\n"} {
		if _, err := clone.Branch(t.Context(), somebody, "polex/web", writing(name, content)); !errors.Is(err, commit.ErrBranchExists) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if at := r.line("rev-parse", "polex/web"); at != made.Commit.String() {
		t.Errorf("the branch has moved to %s", at)
	}
}

func TestBranchNames(t *testing.T) {
	r := newRepository(t, waiting)
	clone := open(t, r, nil)
	for _, name := range []string{"", "-f", "a..b", "../../HEAD", "a b", "a:b", "a*", "a.lock", "/a", "a/", "HEAD", "@", "refs/heads/a"} {
		if _, err := clone.Branch(t.Context(), somebody, name, writing("a", "b")); !errors.Is(err, commit.ErrBranchName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"a+b", "web@1", "+x"} {
		if made, err := clone.Branch(t.Context(), somebody, name, writing("a", "b")); err != nil || r.line("rev-parse", "refs/heads/"+name) != made.Commit.String() {
			t.Errorf("%q: %v", name, err)
		}
	}
	// Git cannot create a branch below another one, which stays unchanged.
	if _, err := clone.Branch(t.Context(), somebody, "main/web", writing("a", "b")); err == nil {
		t.Error("a branch below a branch")
	}
	if r.line("rev-parse", "--verify", "main") != r.head() {
		t.Error("main has moved")
	}
	if result, err := clone.Branch(t.Context(), somebody, "empty", func(*git.Tree) (commit.Change, error) { return commit.Change{}, nil }); err != nil || !result.Commit.IsZero() {
		t.Errorf("nothing to do: %+v, %v", result, err)
	}
	if _, err := r.try("rev-parse", "--verify", "--quiet", "empty"); err == nil {
		t.Error("a branch of nothing")
	}
}

// TestBranchFails: after a failure at any step, the whole branch exists or nothing, and no lock is
// left.
func TestBranchFails(t *testing.T) {
	whole := false
	for at := 0; !whole; at++ {
		r := newRepository(t, waiting)
		count := 0
		clone := open(t, r, func(string) error {
			if count++; count == at+1 {
				return errors.New("as is wanted")
			}
			return nil
		})
		_, err := clone.Branch(t.Context(), somebody, "polex/web", writing("unsigned/web.yaml", "web: 1\n"))
		whole = err == nil
		if _, there := r.try("rev-parse", "--verify", "--quiet", "polex/web"); (there == nil) != whole {
			t.Errorf("step %d: %v, and the branch is there: %v", at, err, there == nil)
		}
		if left, _ := filepath.Glob(filepath.Join(r.dir, ".git", "refs", "heads", "polex", "*.lock")); len(left) > 0 {
			t.Errorf("step %d: %s is left", at, left)
		}
		if _, err := os.Lstat(filepath.Join(r.dir, "unsigned", "web.yaml")); err == nil {
			t.Errorf("step %d: the work tree has it", at)
		}
		if at > 100 {
			t.Fatal("no end of steps")
		}
	}
}

// TestWriteExecutable: a written file is regular, even if it replaces an executable one. Such files
// can therefore be pruned in part.
func TestWriteExecutable(t *testing.T) {
	r := newRepository(t, waiting)
	r.git("update-index", "--chmod=+x", "unsigned/a.yaml")
	r.git("commit", "--quiet", "--message", "Make it executable")
	r.git("checkout", "--", ".")
	clone := open(t, r, nil)
	if _, err := clone.Commit(t.Context(), somebody, writing("unsigned/a.yaml", "b")); err != nil {
		t.Fatal(err)
	}
	if got := r.line("ls-tree", "HEAD", "unsigned/a.yaml"); !strings.HasPrefix(got, "100644 ") {
		t.Errorf("it is %s", got)
	}
	r.clean()
}
