package commit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/test/expect"
)

// TestOrigins: the origin of a file is the first-parent commit that gave it its content. For a
// merged change, this is the merge.
func TestOrigins(t *testing.T) {
	r := newRepository(t, map[string]string{"unsigned/first.yaml": "1\n", "unsigned/again.yaml": "1\n", "a": "x"})
	want := map[string]string{"unsigned/first.yaml": r.head()}
	r.git("checkout", "--quiet", "-b", "topic")
	r.write("unsigned/merged.yaml", "1\n")
	r.commit("On a branch")
	r.git("checkout", "--quiet", "main")
	r.write("unsigned/changed.yaml", "1\n")
	r.commit("Add")
	r.git("merge", "--quiet", "--no-ff", "--message=Merge it", "topic")
	want["unsigned/merged.yaml"] = r.head()
	r.write("unsigned/changed.yaml", "2\n")
	r.git("rm", "--quiet", "unsigned/again.yaml")
	want["unsigned/changed.yaml"] = r.commit("Change one, withdraw another")
	r.write("unsigned/again.yaml", "1\n")
	want["unsigned/again.yaml"] = r.commit("Ask again")
	r.git("mv", "a", "b")
	r.write("a/in.yaml", "1\n") // a file became a folder
	want["a/in.yaml"] = r.commit("Something else")
	r.commit("Nothing at all")

	check := func(r *repository, want map[string]string) {
		t.Helper()
		var names []string
		for name := range map[string]bool{"unsigned/first.yaml": true, "unsigned/merged.yaml": true, "unsigned/changed.yaml": true, "unsigned/again.yaml": true, "a/in.yaml": true} {
			names = append(names, name)
		}
		got := expect.Value(r.open().Origins(git.NewHash(r.head()), names))(t)
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
	shallow := &repository{tb: t, dir: filepath.Join(filepath.Dir(r.dir), "shallow")}
	r.git("clone", "--quiet", "--depth=3", "file://"+r.dir, shallow.dir)
	check(shallow, map[string]string{"a/in.yaml": want["a/in.yaml"]})
	// With one more commit, it has.
	shallow.git("fetch", "--quiet", "--deepen=1")
	check(shallow, map[string]string{"a/in.yaml": want["a/in.yaml"], "unsigned/again.yaml": want["unsigned/again.yaml"]})
}

// TestResolve: a name is one commit or none.
func TestResolve(t *testing.T) {
	r := newRepository(t, waiting)
	first := r.head()
	r.git("tag", "light")
	r.git("tag", "--annotate", "--message=x", "heavy")
	second := r.commit("Second")
	r.git("branch", "same")
	r.git("tag", "same")
	r.git("branch", "both")
	r.git("tag", "both", first)
	r.bare()
	c := r.open()
	for name, want := range map[string]string{
		"HEAD": second, "main": second, "light": first, "heavy": first, "origin/main": second, first: first, "same": second,
		"both": "are different commits", "nowhere": "does not have it", first[:12]: "does not have it", "HEAD~1": "not the name of a commit", "-x": "does not have it", "main^{tree}": "not the name of a commit",
		strings.Repeat("0", 40): "does not have it", r.line("rev-parse", "HEAD:README.md"): "not a commit",
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
		r.git("pack-refs", "--all")
		linked := &repository{tb: t, dir: filepath.Join(filepath.Dir(r.dir), "linked")}
		r.git("worktree", "add", "--quiet", "-b", "sign/here", linked.dir)
		if linked.runUntil(n, "commit") != nil {
			if n <= len(stepsOf["commit"]) {
				t.Errorf("only %d steps", n)
			}
			return
		}
		if got := r.run("nothing"); got.Recovered != "" || got.Err != "" {
			t.Errorf("killed at %d: the other work tree says %+v", n, got)
		}
		linked.succeeds("commit")
		linked.killed, r.killed = true, true
		linked.clean()
		r.clean()
		if got := r.line("log", "--format=%s", "main..sign/here"); got != "Sign 3" {
			t.Errorf("killed at %d: the branch has %q", n, got)
		}
	}
}

// TestChangesRefused: invalid paths.
func TestChangesRefused(t *testing.T) {
	r := newRepository(t, waiting)
	r.must(os.Symlink("README.md", r.path("link")))
	head := r.commit("Link")
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
	expect.Is(t, "HEAD", head, r.head())
	_ = c.Close()
	r.clean()
}

func proposing(change commit.Change) commit.Propose {
	return func(*git.Tree) (commit.Change, error) { return change, nil }
}
