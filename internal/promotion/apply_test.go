package promotion_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion"
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
	before := r.head()
	q := r.open()
	if q.Source().String() != before {
		t.Errorf("source %s", q.Source())
	}
	names, hash, err := q.apply(stamp(t, q.Documents()), author())
	if err != nil {
		t.Fatalf("apply: %v", err)
	}
	wantMoves := []string{"unsigned/a.yaml -> signed/a.yaml", "unsigned/j.json -> signed/j.json", "unsigned/team/deep/b.yml -> signed/team/deep/b.yml"}
	if diff := cmp.Diff(wantMoves, names); diff != "" {
		t.Errorf("moves (-want +got):\n%s", diff)
	}
	if got := r.head(); got != hash {
		t.Errorf("HEAD is %s, want %s", got, hash)
	}
	r.unchanged(hash)

	for name, want := range map[string]string{
		"signed/a.yaml": stamped(exceptionText("a")), "signed/team/deep/b.yml": stamped(several),
		"signed/j.json": strings.Replace(jsonText, `{"a"`, `{"example.com/sealed": "true", "a"`, 1),
	} {
		if diff := cmp.Diff(want, r.git("show", "HEAD:"+name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := r.read(name); got != r.git("show", "HEAD:"+name) {
			t.Errorf("%s differs on disk:\n%s", name, got)
		}
	}
	wantChanges := "A\tsigned/a.yaml\nA\tsigned/j.json\nA\tsigned/team/deep/b.yml\nD\tunsigned/a.yaml\nD\tunsigned/j.json\nD\tunsigned/team/deep/b.yml\n"
	if diff := cmp.Diff(wantChanges, r.git("diff-tree", "-r", "--no-commit-id", "--name-status", "--no-renames", "HEAD")); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	wantLog := hash + "|" + before + "|Polex Bot <bot@example.com>|Polex Bot <bot@example.com>|2026-03-01T10:30:15+00:00|Sign 4 exceptions\n\n" +
		strings.Join(wantMoves, "\n") + "\n\n" +
		"Polex-Source-Commit: " + before + "\nSigned-off-by: Polex Bot <bot@example.com>\n"
	if diff := cmp.Diff(wantLog+"\n", r.git("log", "-1", "--format=%H|%P|%an <%ae>|%cn <%ce>|%cI|%B")); diff != "" {
		t.Errorf("commit (-want +got):\n%s", diff)
	}
	wantTrailers := "Polex-Source-Commit: " + before + "\nSigned-off-by: Polex Bot <bot@example.com>\n"
	if diff := cmp.Diff(wantTrailers, strings.TrimRight(r.git("log", "-1", "--format=%(trailers)"), "\n")+"\n"); diff != "" {
		t.Errorf("trailers as Git reads them (-want +got):\n%s", diff)
	}
	if stat := r.git("show", "--stat", "--find-renames=50%", "HEAD"); !strings.Contains(stat, "{unsigned => signed}/a.yaml") || !strings.Contains(stat, "3 files changed") {
		t.Errorf("git show --stat:\n%s", stat)
	}
	if left := r.open(); len(left.Moves) != 0 || len(left.Documents()) != 0 {
		t.Errorf("%d documents still wait", len(left.Documents()))
	}
}

func TestApplyOneException(t *testing.T) {
	r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a")})
	q := r.open()
	if _, _, err := q.apply(stamp(t, q.Documents()), author()); err != nil {
		t.Fatalf("apply: %v", err)
	}
	if got, want := r.git("log", "-1", "--format=%s"), "Sign PolicyException.kyverno.io team-a/a\n"; got != want {
		t.Errorf("subject %q, want %q", got, want)
	}
}

// Other folders, not at the root, and opened from a folder of the work tree.
func TestApplyOtherFolders(t *testing.T) {
	r := newRepository(t, map[string]string{"exceptions/inbox/a.yaml": exceptionText("a"), "unsigned/not-this.yaml": "x\n"})
	q, err := r.try(r.path("exceptions/inbox"), promotion.Options{Unsigned: "./exceptions/inbox/", Signed: "exceptions/approved"})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	if _, _, err := q.apply(stamp(t, q.Documents()), author()); err != nil {
		t.Fatalf("apply: %v", err)
	}
	if diff := cmp.Diff(stamped(exceptionText("a")), r.git("show", "HEAD:exceptions/approved/a.yaml")); diff != "" {
		t.Errorf("signed file (-want +got):\n%s", diff)
	}
	r.unchanged(r.head())
}

// The usual checkouts of a CI runner: shallow, detached, a linked work tree, and packed refs.
func TestApplyInCheckouts(t *testing.T) {
	for name, checkout := range map[string]func(*repository) string{
		"shallow": func(r *repository) string {
			r.commit("Another one")
			dir := filepath.Join(r.home, "shallow")
			r.git("clone", "--quiet", "--depth=1", "file://"+r.Dir, dir)
			return dir
		},
		"packed": func(r *repository) string {
			r.git("gc", "--quiet")
			r.git("pack-refs", "--all")
			return r.Dir
		},
		"linked work tree": func(r *repository) string {
			dir := filepath.Join(r.home, "linked")
			r.git("worktree", "add", "--quiet", "-b", "sign", dir)
			return dir
		},
		"submodule": func(r *repository) string {
			outer := newRepository(r.tb, nil)
			outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", r.Dir, "exceptions")
			outer.commit("Take the exceptions in")
			return outer.path("exceptions")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a")})
			r.Dir = checkout(r)
			before := r.head()
			q := r.open()
			_, hash, err := q.apply(stamp(t, q.Documents()), author())
			if err != nil {
				t.Fatalf("apply: %v", err)
			}
			r.unchanged(hash)
			if got := strings.TrimSpace(r.git("rev-parse", "HEAD^")); got != before {
				t.Errorf("parent is %s, want %s", got, before)
			}
		})
	}
}

func TestEmptyQueue(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"no folder": nil, "only what is no exception": {"unsigned/.gitkeep": "", "unsigned/README.md": "", "unsigned/team/HOWTO.MD": ""},
	} {
		t.Run(name, func(t *testing.T) {
			q := newRepository(t, files).open()
			if len(q.Moves) != 0 || len(q.Documents()) != 0 {
				t.Errorf("%d documents wait", len(q.Documents()))
			}
		})
	}
}

// The pending files are those of HEAD, with any index, work tree and other refs. Ignored files do
// not count.
func TestQueueIsHead(t *testing.T) {
	r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a"), ".gitignore": "*.local.yaml\n"})
	r.write("unsigned/b.local.yaml", exceptionText("b"))
	r.git("branch", "other")
	q := r.open()
	var names []string
	for _, doc := range q.Documents() {
		names = append(names, doc.Identity().Name)
	}
	if diff := cmp.Diff([]string{"a"}, names); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

func TestAuthor(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	for _, tc := range []struct {
		name   string
		commit commit.Author
		config map[string]string
		want   string // "" if there is no author
	}{
		{name: "nobody"},
		{name: "half of a name", commit: commit.Author{Name: "Polex Bot"}},
		{name: "half in the configuration", config: map[string]string{"user.email": "git@example.com"}},
		{name: "given", commit: *author(), want: "Polex Bot <bot@example.com>"},
		{name: "configured", config: map[string]string{"user.name": "Gitta", "user.email": "git@example.com"}, want: "Gitta <git@example.com>"},
		{name: "given over configured", commit: *author(), config: map[string]string{"user.name": "Gitta", "user.email": "git@example.com"}, want: "Polex Bot <bot@example.com>"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a")})
			for _, key := range slices.Sorted(maps.Keys(tc.config)) {
				r.git("config", key, tc.config[key])
			}
			head := r.head()
			q := r.open()
			_, checked := r.clone.Signature(tc.commit)
			tc.commit.When = committedAt
			_, _, err := q.apply(stamp(t, q.Documents()), &tc.commit)
			if tc.want == "" {
				if !errors.Is(checked, commit.ErrNoAuthor) || !errors.Is(err, commit.ErrNoAuthor) {
					t.Errorf("Signature: %v, apply: %v, want ErrNoAuthor", checked, err)
				}
				r.unchanged(head)
				return
			}
			if checked != nil || err != nil {
				t.Fatalf("Signature: %v, apply: %v", checked, err)
			}
			if got := r.git("log", "-1", "--format=%an <%ae>|%cn <%ce>"); got != tc.want+"|"+tc.want+"\n" {
				t.Errorf("author and committer %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAuthorBreaksHeader(t *testing.T) {
	r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a")})
	head := r.head()
	q := r.open()
	for _, commit := range []commit.Author{{Name: "a\nparent b", Email: "c"}, {Name: "a", Email: "b>\ngpgsig x"}, {Name: "a <b>", Email: "c"}} {
		if _, _, err := q.apply(stamp(t, q.Documents()), &commit); err == nil {
			t.Errorf("author %q <%q>: %v", commit.Name, commit.Email, err)
		}
	}
	r.unchanged(head)
}

// The signed documents must match the requested ones.
func TestApplyChecksDocuments(t *testing.T) {
	r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a"), "unsigned/b.yaml": exceptionText("b")})
	head := r.head()
	q := r.open()
	docs := stamp(t, q.Documents())
	for name, sealed := range map[string]int{"none": 0, "one too few": 1} {
		if _, _, err := q.apply(docs[:sealed], author()); err == nil {
			t.Errorf("%s: applied", name)
		}
	}
	if _, _, err := q.apply(append(slices.Clone(docs), docs[0]), author()); err == nil {
		t.Error("one too many: applied")
	}
	slices.Reverse(docs)
	if _, _, err := q.apply(docs, author()); err == nil || !strings.Contains(err.Error(), "was signed, expected") {
		t.Errorf("in another order: %v", err)
	}
	r.unchanged(head)
	if _, err := os.Lstat(r.path("signed")); err == nil {
		t.Error("the signed folder was made")
	}
}
