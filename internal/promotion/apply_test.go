package promotion_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

const jsonText = `{
  "apiVersion": "policies.kyverno.io/v1",
  "kind": "PolicyException",
  "metadata": {"name": "j", "namespace": "team-a", "annotations": {"a": "b"}},
  "spec": {"policyRefs": [{"kind": "ValidatingPolicy", "name": "p"}]}
}
`

// One commit moves all pending files to the signed folder, and git shows it in the same way.
func TestApplyCommits(t *testing.T) {
	several := "# for both\n---\n" + exceptionText("b") + "---\n" + exceptionText("c")
	r := newRepository(t, map[string]string{
		"unsigned/.gitkeep":             "",
		"unsigned/README.md":            "How to ask\n",
		"unsigned/a.yaml":               exceptionText("a"),
		"unsigned/team/deep/b.yml":      several,
		"unsigned/j.json":               jsonText,
		"signed/team/old.yaml":          exceptionText("old"),
		".github/workflows/merge.yaml":  "on: push\n",
		"unsigned-drafts/untouched.txt": "x\n",
	})
	before := r.Head()
	q := r.open()
	expect.That(t, q.Source().String() == before, "source %s", q.Source())
	names, hash, err := q.apply(stamp(t, q.Documents()), author())
	must.That(t, err == nil, "apply: %v", err)
	wantMoves := []string{"unsigned/a.yaml -> signed/a.yaml", "unsigned/j.json -> signed/j.json", "unsigned/team/deep/b.yml -> signed/team/deep/b.yml"}
	expect.Equal(t, "moves", wantMoves, names)
	expect.Is(t, "HEAD", hash, r.Head())
	r.unchanged(hash)

	for name, want := range map[string]string{
		"signed/a.yaml": stamped(exceptionText("a")), "signed/team/deep/b.yml": stamped(several),
		"signed/j.json": strings.Replace(jsonText, `{"a"`, `{"example.com/sealed": "true", "a"`, 1),
	} {
		expect.Equal(t, name, want, r.Git("show", "HEAD:"+name))
		expect.Is(t, name+" on disk", r.Git("show", "HEAD:"+name), r.Read(name))
	}
	wantChanges := "A\tsigned/a.yaml\nA\tsigned/j.json\nA\tsigned/team/deep/b.yml\nD\tunsigned/a.yaml\nD\tunsigned/j.json\nD\tunsigned/team/deep/b.yml\n"
	expect.Equal(t, "changes",
		wantChanges, r.Git("diff-tree", "-r", "--no-commit-id", "--name-status", "--no-renames", "HEAD"))
	wantLog := hash + "|" + before + "|Polex Bot <bot@example.com>|Polex Bot <bot@example.com>|2026-03-01T10:30:15+00:00|Sign 4 exceptions\n\n" +
		strings.Join(wantMoves, "\n") + "\n\n" +
		"Polex-Source-Commit: " + before + "\nSigned-off-by: Polex Bot <bot@example.com>\n"
	expect.Equal(t, "commit", wantLog+"\n", r.Git("log", "-1", "--format=%H|%P|%an <%ae>|%cn <%ce>|%cI|%B"))
	wantTrailers := "Polex-Source-Commit: " + before + "\nSigned-off-by: Polex Bot <bot@example.com>\n"
	expect.Equal(t, "trailers as Git reads them",
		wantTrailers, strings.TrimRight(r.Git("log", "-1", "--format=%(trailers)"), "\n")+"\n")
	if stat := r.Git("show", "--stat", "--find-renames=50%", "HEAD"); !strings.Contains(stat, "{unsigned => signed}/a.yaml") || !strings.Contains(stat, "3 files changed") {
		t.Errorf("git show --stat:\n%s", stat)
	}
	if left := r.open(); len(left.Moves) != 0 || len(left.Documents()) != 0 {
		t.Errorf("%d documents still wait", len(left.Documents()))
	}
}

// Other folders, not at the root, and opened from a folder of the work tree.
func TestApplyOtherFolders(t *testing.T) {
	r := newRepository(t, map[string]string{"exceptions/inbox/a.yaml": exceptionText("a"), "unsigned/not-this.yaml": "x\n"})
	q, err := r.try(r.Path("exceptions/inbox"), promotion.Options{Unsigned: "./exceptions/inbox/", Signed: "exceptions/approved"})
	must.That(t, err == nil, "Open: %v", err)
	if _, _, err := q.apply(stamp(t, q.Documents()), author()); err != nil {
		t.Fatalf("apply: %v", err)
	}
	expect.Equal(t, "signed file", stamped(exceptionText("a")), r.Git("show", "HEAD:exceptions/approved/a.yaml"))
	expect.Is(t, "subject", "Sign PolicyException.kyverno.io team-a/a", r.Line("log", "-1", "--format=%s"))
	r.unchanged(r.Head())
}

// The usual checkouts of a CI runner: shallow, detached, a linked work tree, and packed refs.
func TestApplyInCheckouts(t *testing.T) {
	for name, checkout := range map[string]func(*repository) string{
		"shallow": func(r *repository) string {
			r.Commit("Another one")
			dir := filepath.Join(r.Home, "shallow")
			r.Git("clone", "--quiet", "--depth=1", "file://"+r.Dir, dir)
			return dir
		},
		"packed": func(r *repository) string {
			r.Git("gc", "--quiet")
			r.Git("pack-refs", "--all")
			return r.Dir
		},
		"linked work tree": func(r *repository) string {
			dir := filepath.Join(r.Home, "linked")
			r.Git("worktree", "add", "--quiet", "-b", "sign", dir)
			return dir
		},
		"submodule": func(r *repository) string {
			outer := newRepository(r.TB, nil)
			outer.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", r.Dir, "exceptions")
			outer.Commit("Take the exceptions in")
			return outer.Path("exceptions")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a")})
			r.Dir = checkout(r)
			before := r.Head()
			q := r.open()
			_, hash, err := q.apply(stamp(t, q.Documents()), author())
			must.That(t, err == nil, "apply: %v", err)
			r.unchanged(hash)
			expect.Is(t, "parent", before, strings.TrimSpace(r.Git("rev-parse", "HEAD^")))
		})
	}
}

func TestAuthorBreaksHeader(t *testing.T) {
	r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a")})
	head := r.Head()
	q := r.open()
	for _, commit := range []commit.Author{{Name: "a\nparent b", Email: "c"}, {Name: "a", Email: "b>\ngpgsig x"}, {Name: "a <b>", Email: "c"}} {
		_, _, err := q.apply(stamp(t, q.Documents()), &commit)
		expect.That(t, err != nil, "author %q <%q>: %v", commit.Name, commit.Email, err)
	}
	r.unchanged(head)
}

// The signed documents must match the requested ones.
func TestApplyChecksDocuments(t *testing.T) {
	r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a"), "unsigned/b.yaml": exceptionText("b")})
	head := r.Head()
	q := r.open()
	docs := stamp(t, q.Documents())
	for _, sealed := range [][]*exception.Document{nil, docs[:1], {docs[0], docs[1], docs[0]}} {
		_, _, err := q.apply(sealed, author())
		expect.That(t, err != nil, "%d documents: applied", len(sealed))
	}
	_, _, err := q.apply([]*exception.Document{docs[1], docs[0]}, author())
	expect.Error(t, err, "was signed, expected")
	r.unchanged(head)
	_, err = os.Lstat(r.Path("signed"))
	expect.That(t, err != nil, "the signed folder was made")
}

// All or nothing: after any error before the commit, the disk, the index and the history are unchanged.
func TestApplyUndoes(t *testing.T) {
	queue := map[string]string{"unsigned/a.yaml": exceptionText("a"), "unsigned/b.yaml": exceptionText("b"), "unsigned/c/c.yaml": exceptionText("c"),
		".gitignore": "*.local/\n/signed/b.yaml\n/signed/c\n"}
	writes := func(name, text string) func(*repository) func() {
		return func(r *repository) func() {
			r.Write(name, text)
			return func() {}
		}
	}
	links := func(target, name string) func(*repository) func() {
		return func(r *repository) func() {
			r.Write("victim.local/x", "")
			r.Write("signed/", "")
			r.link(target, name)
			return func() { r.empty("victim.local", "x") }
		}
	}
	for _, tc := range []struct {
		name    string
		between func(*repository) (clean func()) // after Open
	}{
		{name: "the second target is an ignored folder", between: writes("signed/b.yaml/x", "")},
		{name: "the second target is an ignored file", between: func(r *repository) func() {
			r.Write("signed/b.yaml", "mine\n")
			return func() { expect.Is(r.TB, "the file that was in the way", "mine\n", r.Read("signed/b.yaml")) }
		}},
		{name: "the second target is a link", between: links("../victim.local/b.yaml", "signed/b.yaml")},
		{name: "the third target's folder is a link", between: links("../victim.local", "signed/c")},
		{name: "the third target's folder is a file", between: writes("signed/c", "mine\n")},
		{name: "the branch cannot be moved", between: func(r *repository) func() {
			// The ref is packed, and a folder is in the place of its file.
			r.Git("pack-refs", "--all")
			r.Write(".git/refs/heads/main/in-the-way", strings.Repeat("0", 40)+"\n")
			return func() { must.Do(r.TB, os.RemoveAll(r.Path(".git/refs/heads/main"))) }
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRepository(t, queue)
			head := r.Head()
			q := r.open()
			docs := stamp(t, q.Documents())
			clean := tc.between(r)
			moves, hash, err := q.apply(docs, author())
			clean()
			must.That(t, err != nil && hash == "", "apply: %d moves, hash %q, %v, want an error", len(moves), hash, err)
			r.unchanged(head)
			for file, want := range queue {
				expect.Is(t, file, want, r.Read(file))
			}
		})
	}
}

// empty checks that a folder has only this file.
func (r *repository) empty(dir, but string) {
	r.TB.Helper()
	entries, err := os.ReadDir(r.Path(dir))
	must.Do(r.TB, err)
	for _, entry := range entries {
		expect.That(r.TB, entry.Name() == but, "%s was written to %s", entry.Name(), dir)
	}
}

// Attack 103: the signed folder is a symbolic link to the workflows, from the beginning or after the files were read.
func TestSignedIsALink(t *testing.T) {
	for name, tc := range map[string]struct {
		target    string
		committed bool
	}{"committed": {".github/workflows", true}, "inside": {".github/workflows", false}, "outside": {t.TempDir(), false}} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a"), ".github/workflows/merge.yaml": "on: push\n"})
			if tc.committed {
				r.link(tc.target, "signed")
				r.Commit("Link the signed folder")
			}
			head := r.Head()
			q, err := r.try(r.Dir, promotion.Options{})
			must.That(t, tc.committed || err == nil, "open: %v", err)
			if !tc.committed {
				r.link(tc.target, "signed")
			}
			if err == nil {
				_, _, err = q.apply(stamp(t, q.Documents()), author())
			}
			expect.That(t, err != nil, "promoted through a link")
			if !tc.committed {
				must.Do(r.TB, os.Remove(r.Path("signed")))
			}
			r.unchanged(head)
			r.empty(".github/workflows", "merge.yaml")
		})
	}
}

// The clone changes during the signing: the commit is made on the branch as it is now, or not at all.
// The changes of the user stay.
func TestHeadMoves(t *testing.T) {
	for name, tc := range map[string]struct {
		move func(*repository)
		want error // nil if it is promoted
	}{
		"commit":                            {func(r *repository) { r.Write("later.txt", "x\n"); r.Commit("Later") }, nil},
		"checkout":                          {func(r *repository) { r.Git("checkout", "--quiet", "-b", "other"); r.Commit("Elsewhere") }, commit.ErrMoved},
		"another branch at the same commit": {func(r *repository) { r.Git("checkout", "--quiet", "-b", "other") }, commit.ErrMoved},
		"an unsigned file vanishes":         {func(r *repository) { must.Do(r.TB, os.Remove(r.Path("unsigned/a.yaml"))) }, nil},
		"an unsigned file becomes a link": {func(r *repository) {
			must.Do(r.TB, os.Remove(r.Path("unsigned/a.yaml")))
			r.link("../README.md", "unsigned/a.yaml")
		}, commit.ErrInTheWay},
		"staged":               {func(r *repository) { r.Write("later.txt", "x\n"); r.Git("add", ".") }, nil},
		"changed elsewhere":    {func(r *repository) { r.Write("README.md", "mine\n"); r.Write("unsigned/new.yaml", "mine\n") }, nil},
		"changed in the queue": {func(r *repository) { r.Write("unsigned/a.yaml", exceptionText("a")+"  background: true\n") }, commit.ErrInTheWay},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a")})
			q := r.open()
			docs := stamp(t, q.Documents())
			tc.move(r)
			head, status := r.Head(), r.Git("status", "--porcelain", "--untracked-files=all")
			_, _, err := q.apply(docs, author())
			expect.That(t, errors.Is(err, tc.want) && (err == nil || tc.want != nil), "%v, want %v", err, tc.want)
			if got := r.Head(); (got != head) != (tc.want == nil) || got != head && strings.TrimSpace(r.Git("rev-parse", "HEAD^")) != head {
				t.Errorf("HEAD moved to %s", got)
			}
			status = strings.ReplaceAll(status, " D unsigned/a.yaml\n", "") // it was to be removed
			got := r.Git("status", "--porcelain", "--untracked-files=all")
			expect.That(t, tc.want != nil || got == status, "git status %q, want %q", got, status)
		})
	}
}
