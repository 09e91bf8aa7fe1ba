package promotion_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion"
)

// All or nothing: after any error before the commit, the disk, the index and the history are
// unchanged.
func TestApplyUndoes(t *testing.T) {
	queue := map[string]string{"unsigned/a.yaml": exceptionText("a"), "unsigned/b.yaml": exceptionText("b"), "unsigned/c/c.yaml": exceptionText("c"),
		".gitignore": "*.local/\n/signed/b.yaml\n/signed/c\n"}
	for _, tc := range []struct {
		name    string
		between func(*repository) (clean func()) // after Open
	}{
		{name: "the second target is an ignored folder", between: func(r *repository) func() {
			r.write("signed/b.yaml/x", "")
			return func() {}
		}},
		{name: "the second target is an ignored file", between: func(r *repository) func() {
			r.write("signed/b.yaml", "mine\n")
			return func() {
				if got := r.read("signed/b.yaml"); got != "mine\n" {
					r.tb.Errorf("the file that was in the way holds %q", got)
				}
			}
		}},
		{name: "the second target is a link", between: func(r *repository) func() {
			r.write("victim.local/x", "")
			r.write("signed/", "")
			r.link("../victim.local/b.yaml", "signed/b.yaml")
			return func() { r.empty("victim.local", "x") }
		}},
		{name: "the third target's folder is a link", between: func(r *repository) func() {
			r.write("victim.local/x", "")
			r.write("signed/", "")
			r.link("../victim.local", "signed/c")
			return func() { r.empty("victim.local", "x") }
		}},
		{name: "the third target's folder is a file", between: func(r *repository) func() {
			r.write("signed/c", "mine\n")
			return func() {}
		}},
		{name: "the branch cannot be moved", between: func(r *repository) func() {
			// The ref is packed, and a folder is in the place of its file.
			r.git("pack-refs", "--all")
			r.write(".git/refs/heads/main/in-the-way", strings.Repeat("0", 40)+"\n")
			return func() { r.must(os.RemoveAll(r.path(".git/refs/heads/main"))) }
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRepository(t, queue)
			head := r.head()
			q := r.open()
			docs := stamp(t, q.Documents())
			clean := tc.between(r)
			moves, hash, err := q.apply(docs, author())
			clean()
			if err == nil || hash != "" {
				t.Fatalf("apply: %d moves, hash %q, %v, want an error", len(moves), hash, err)
			}
			r.unchanged(head)
			for file, want := range queue {
				if got := r.read(file); got != want {
					t.Errorf("%s holds %q", file, got)
				}
			}
		})
	}
}

// empty checks that a folder has only this file.
func (r *repository) empty(dir, but string) {
	r.tb.Helper()
	entries, err := os.ReadDir(r.path(dir))
	r.must(err)
	for _, entry := range entries {
		if entry.Name() != but {
			r.tb.Errorf("%s was written to %s", entry.Name(), dir)
		}
	}
}

// Attack 103: the signed folder is a symbolic link to the workflows.
func TestSignedIsALink(t *testing.T) {
	r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a"), ".github/workflows/merge.yaml": "on: push\n"})
	r.link(".github/workflows", "signed")
	r.commit("Link the signed folder")
	head := r.head()
	q, err := r.try(r.Dir, promotion.Options{})
	if err == nil {
		_, _, err = q.apply(stamp(t, q.Documents()), author())
	}
	if err == nil {
		t.Error("promoted through a link")
	}
	r.unchanged(head)
	r.empty(".github/workflows", "merge.yaml")
}

// A link that appears after the files were read is not followed either.
func TestSignedBecomesALink(t *testing.T) {
	for name, target := range map[string]string{"inside": ".github/workflows", "outside": ""} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a"), ".github/workflows/merge.yaml": "on: push\n"})
			head := r.head()
			q := r.open()
			if target == "" {
				target = t.TempDir()
			}
			r.link(target, "signed")
			if _, _, err := q.apply(stamp(t, q.Documents()), author()); err == nil {
				t.Error("promoted through a link")
			}
			r.must(os.Remove(r.path("signed")))
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
		"commit":                            {func(r *repository) { r.write("later.txt", "x\n"); r.commit("Later") }, nil},
		"checkout":                          {func(r *repository) { r.git("checkout", "--quiet", "-b", "other"); r.commit("Elsewhere") }, commit.ErrMoved},
		"another branch at the same commit": {func(r *repository) { r.git("checkout", "--quiet", "-b", "other") }, commit.ErrMoved},
		"an unsigned file vanishes":         {func(r *repository) { r.must(os.Remove(r.path("unsigned/a.yaml"))) }, nil},
		"an unsigned file becomes a link": {func(r *repository) {
			r.must(os.Remove(r.path("unsigned/a.yaml")))
			r.link("../README.md", "unsigned/a.yaml")
		}, commit.ErrInTheWay},
		"staged":               {func(r *repository) { r.write("later.txt", "x\n"); r.git("add", ".") }, nil},
		"changed elsewhere":    {func(r *repository) { r.write("README.md", "mine\n"); r.write("unsigned/new.yaml", "mine\n") }, nil},
		"changed in the queue": {func(r *repository) { r.write("unsigned/a.yaml", exceptionText("a")+"  background: true\n") }, commit.ErrInTheWay},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a")})
			q := r.open()
			docs := stamp(t, q.Documents())
			tc.move(r)
			head, status := r.head(), r.git("status", "--porcelain", "--untracked-files=all")
			_, _, err := q.apply(docs, author())
			if !errors.Is(err, tc.want) || err != nil && tc.want == nil {
				t.Errorf("%v, want %v", err, tc.want)
			}
			if got := r.head(); (got != head) != (tc.want == nil) || got != head && strings.TrimSpace(r.git("rev-parse", "HEAD^")) != head {
				t.Errorf("HEAD moved to %s", got)
			}
			status = strings.ReplaceAll(status, " D unsigned/a.yaml\n", "") // it was to be removed
			if got := r.git("status", "--porcelain", "--untracked-files=all"); tc.want == nil && got != status {
				t.Errorf("git status %q, want %q", got, status)
			}
		})
	}
}
