package commit_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/test/expect"
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
	clone := expect.Value(commit.Open(commit.Options{Dir: r.dir, Step: step}))(t)
	t.Cleanup(func() { _ = clone.Close() })
	return clone
}

func TestBranchNames(t *testing.T) {
	for _, name := range []string{"", "-f", "a..b", "../../HEAD", "a b", "a:b", "a*", "a.lock", "/a", "a/", "HEAD", "@", "refs/heads/a"} {
		if err := commit.CheckBranch(name); !errors.Is(err, commit.ErrBranchName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"a+b", "web@1", "+x"} {
		if err := commit.CheckBranch(name); err != nil {
			t.Errorf("%q: %v", name, err)
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
	expect.Value(clone.Commit(t.Context(), somebody, writing("unsigned/a.yaml", "b")))(t)
	if got := r.line("ls-tree", "HEAD", "unsigned/a.yaml"); !strings.HasPrefix(got, "100644 ") {
		t.Errorf("it is %s", got)
	}
	r.clean()
}
