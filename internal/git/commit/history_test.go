package commit_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestOrigins: the origin of a file is the first-parent commit that gave it its content. For a
// merged change, this is the merge.
func TestOrigins(t *testing.T) {
	r := newRepository(t, map[string]string{"unsigned/first.yaml": "1\n", "unsigned/again.yaml": "1\n", "a": "x"})
	want := map[string]string{"unsigned/first.yaml": r.Head()}
	r.Git("checkout", "--quiet", "-b", "topic")
	r.CommitFile("On a branch", "unsigned/merged.yaml", "1\n")
	r.Git("checkout", "--quiet", "main")
	r.CommitFile("Add", "unsigned/changed.yaml", "1\n")
	r.Git("merge", "--quiet", "--no-ff", "--message=Merge it", "topic")
	want["unsigned/merged.yaml"] = r.Head()
	r.Write("unsigned/changed.yaml", "2\n")
	r.Git("rm", "--quiet", "unsigned/again.yaml")
	want["unsigned/changed.yaml"] = r.Commit("Change one, withdraw another")
	r.Write("unsigned/again.yaml", "1\n")
	want["unsigned/again.yaml"] = r.Commit("Ask again")
	r.Git("mv", "a", "b")
	r.Write("a/in.yaml", "1\n") // a file became a folder
	want["a/in.yaml"] = r.Commit("Something else")
	r.Commit("Nothing at all")

	check := func(r *repository, want map[string]string) {
		t.Helper()
		var names []string
		for name := range map[string]bool{"unsigned/first.yaml": true, "unsigned/merged.yaml": true, "unsigned/changed.yaml": true, "unsigned/again.yaml": true, "a/in.yaml": true} {
			names = append(names, name)
		}
		got := must.Get(r.open().Origins(git.NewHash(r.Head()), names))(t)
		for _, name := range names {
			origin, known := got[name]
			if known != (want[name] != "") || known && origin.Commit.String() != want[name] {
				t.Errorf("%s comes from %s, want %q", name, origin.Commit, want[name])
			}
			if known && origin.Author != "Ann <ann@example.com>" {
				t.Errorf("%s is by %q", name, origin.Author)
			}
		}
	}
	check(r, want)

	// A shallow clone has no origins that are older than its history.
	shallow := repositoryAt(t, filepath.Join(filepath.Dir(r.Dir), "shallow"))
	r.Git("clone", "--quiet", "--depth=3", "file://"+r.Dir, shallow.Dir)
	check(shallow, map[string]string{"a/in.yaml": want["a/in.yaml"]})
	// With one more commit, it has.
	shallow.Git("fetch", "--quiet", "--deepen=1")
	check(shallow, map[string]string{"a/in.yaml": want["a/in.yaml"], "unsigned/again.yaml": want["unsigned/again.yaml"]})
}

// TestResolve: a name is one commit or none.
func TestResolve(t *testing.T) {
	r := newRepository(t, waiting)
	first := r.Head()
	r.Git("tag", "light")
	r.Git("tag", "--annotate", "--message=x", "heavy")
	second := r.Commit("Second")
	r.Git("branch", "same")
	r.Git("tag", "same")
	r.Git("branch", "both")
	r.Git("tag", "both", first)
	r.bare()
	c := r.open()
	for name, want := range map[string]string{
		"HEAD": second, "main": second, "light": first, "heavy": first, "origin/main": second, first: first, "same": second,
		"both": "are different commits", "nowhere": "does not have it", first[:12]: "does not have it", "HEAD~1": "not the name of a commit", "-x": "does not have it", "main^{tree}": "not the name of a commit",
		strings.Repeat("0", 40): "does not have it", r.Line("rev-parse", "HEAD:README.md"): "not a commit",
	} {
		got, err := c.Resolve(name)
		if git.IsHash(want) && (err != nil || got.String() != want) || !git.IsHash(want) && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %s, %v, want %s", name, got, err, want)
		}
	}
}

// TestLinkedWorkTree: a killed run is recovered in its own work tree, not in another one.
func TestLinkedWorkTree(t *testing.T) {
	for n := 0; ; n++ {
		r := newRepository(t, waiting)
		r.Git("pack-refs", "--all")
		linked := repositoryAt(t, filepath.Join(filepath.Dir(r.Dir), "linked"))
		r.Git("worktree", "add", "--quiet", "-b", "sign/here", linked.Dir)
		if linked.runUntil(n, "commit") != nil {
			expect.That(t, n > len(stepsOf["commit"]), "only %d steps", n)
			return
		}
		got := r.run("nothing")
		expect.That(t, got.Recovered == "" && got.Err == "", "killed at %d: the other work tree says %+v", n, got)
		linked.succeeds("commit")
		linked.killed, r.killed = true, true
		linked.clean()
		r.clean()
		expect.Is(t, fmt.Sprintf("killed at %d: the branch", n),
			"Sign 3", r.Line("log", "--format=%s", "main..sign/here"))
	}
}

// TestChangesRefused: invalid paths.
func TestChangesRefused(t *testing.T) {
	r := newRepository(t, waiting)
	must.Do(r.TB, os.Symlink("README.md", r.Path("link")))
	head := r.Commit("Link")
	c := r.open()
	for name, change := range map[string]commit.Change{
		"outside":           {Write: map[string][]byte{"../x": nil}},
		"absolute":          {Write: map[string][]byte{"/x": nil}},
		"the root":          {Write: map[string][]byte{".": nil}},
		"Git's own":         {Write: map[string][]byte{".git/config": nil}},
		"by another name":   {Write: map[string][]byte{"sub/.GIT/config": nil}},
		"by a short name":   {Write: map[string][]byte{"GIT~1/config": nil}},
		"a link":            {Write: map[string][]byte{"link": nil}},
		"a folder":          {Write: map[string][]byte{"signed": nil}},
		"below a file":      {Write: map[string][]byte{"README.md/x": nil}},
		"too long":          {Write: map[string][]byte{strings.Repeat("a/", 600) + "x": nil}},
		"what is not there": {Remove: []string{"nowhere"}},
		"a whole folder":    {Remove: []string{"signed"}},
		"both":              {Write: map[string][]byte{"README.md": nil}, Remove: []string{"README.md"}},
	} {
		propose := proposing(change)
		t.Run(name, func(t *testing.T) {
			got, err := c.Commit(t.Context(), author, propose)
			expect.Error(t, err)
			expect.Is(t, "commit", git.ZeroHash, got.Commit)
			_, err = c.Apply(propose)
			expect.Error(t, err)
		})
	}
	if got, err := c.Commit(t.Context(), author, proposing(commit.Change{Write: map[string][]byte{"README.md": []byte("# Exceptions\n")}})); err != nil || !got.Commit.IsZero() {
		t.Errorf("nothing new: %s, %v", got.Commit, err)
	}
	expect.Is(t, "HEAD", head, r.Head())
	_ = c.Close()
	r.clean()
}

func proposing(change commit.Change) commit.Propose {
	return func(*git.Tree) (commit.Change, error) { return change, nil }
}

var somebody = commit.Author{Name: "A", Email: "a@example.com", When: time.Unix(1_700_000_000, 0)}

// writing proposes one file.
func writing(name, content string) commit.Propose {
	return func(*git.Tree) (commit.Change, error) {
		return commit.Change{Write: map[string][]byte{name: []byte(content)}, Message: "Ask\n"}, nil
	}
}

func open(t *testing.T, r *repository, step func(string) error) *commit.Clone {
	t.Helper()
	clone := must.Get(commit.Open(commit.Options{Dir: r.Dir, Step: step}))(t)
	t.Cleanup(func() { _ = clone.Close() })
	return clone
}

func TestBranchNames(t *testing.T) {
	for _, name := range []string{"", "-f", "a..b", "../../HEAD", "a b", "a:b", "a*", "a.lock", "/a", "a/", "HEAD", "@", "refs/heads/a"} {
		err := commit.CheckBranch(name)
		expect.That(t, errors.Is(err, commit.ErrBranchName), "%q: %v", name, err)
	}
	for _, name := range []string{"a+b", "web@1", "+x"} {
		err := commit.CheckBranch(name)
		expect.That(t, err == nil, "%q: %v", name, err)
	}
}

// TestWriteExecutable: a written file is regular, even if it replaces an executable one. Such files
// can therefore be pruned in part.
func TestWriteExecutable(t *testing.T) {
	r := newRepository(t, waiting)
	r.Git("update-index", "--chmod=+x", "unsigned/a.yaml")
	r.Git("commit", "--quiet", "--message", "Make it executable")
	r.Git("checkout", "--", ".")
	clone := open(t, r, nil)
	must.Get(clone.Commit(t.Context(), somebody, writing("unsigned/a.yaml", "b")))(t)
	got := r.Line("ls-tree", "HEAD", "unsigned/a.yaml")
	expect.That(t, strings.HasPrefix(got, "100644 "), "it is %s", got)
	r.clean()
}
