//go:build unix

package commit_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/test/expect"
)

// TestSettings: Git writes, so polex respects the settings of the repository and the user. Git then
// reports a clean clone, and the commit contains the proposed change.
func TestSettings(t *testing.T) {
	attributes := func(line string) func(*repository) {
		return func(r *repository) {
			r.write(".gitattributes", line+"\n")
			r.commit("Attributes")
			r.must(os.RemoveAll(r.path("unsigned")))
			r.git("checkout", "--quiet", "--", "unsigned")
		}
	}
	config := func(name, value string) func(*repository) {
		return func(r *repository) { r.git("config", name, value) }
	}
	for name, tc := range map[string]struct {
		prepare func(*repository)
		onDisk  string // content of signed/a.yaml
		check   func(*repository)
	}{
		"nothing":     {prepare: func(*repository) {}},
		"split index": {prepare: func(r *repository) { r.git("update-index", "--split-index") }},
		"index.skipHash and version 4": {prepare: func(r *repository) {
			r.git("config", "index.skipHash", "true")
			r.git("update-index", "--index-version=4")
		}},
		"a hidden change elsewhere": {prepare: func(r *repository) {
			r.git("update-index", "--assume-unchanged", "README.md")
			r.write("README.md", "mine\n")
		}, check: func(r *repository) {
			if got := r.read("README.md"); got != "mine\n" {
				r.tb.Errorf("README.md has %q", got)
			}
		}},
		"a sparse checkout": {prepare: func(r *repository) { r.git("sparse-checkout", "set", "unsigned") }, check: func(r *repository) {
			if got := r.git("show", "HEAD:signed.txt"); got != "x\n" {
				r.tb.Errorf("the commit has %q", got)
			}
		}},
		"a sparse index": {prepare: func(r *repository) { r.git("sparse-checkout", "set", "--cone", "--sparse-index", "signed") },
			check: func(r *repository) {
				if got := r.git("ls-tree", "-r", "--name-only", "HEAD", "unsigned"); got != "" {
					r.tb.Errorf("still pending: %s", got)
				}
			}},
		"a filter": {prepare: func(r *repository) {
			r.git("config", "filter.upper.clean", "tr A-Z a-z")
			r.git("config", "filter.upper.smudge", "tr a-z A-Z")
			attributes("*.yaml filter=upper")(r)
		}, onDisk: "SEALED\nA: 1\n"},
		"committed with other line ends": {prepare: func(r *repository) {
			r.git("config", "core.autocrlf", "false")
			r.write("unsigned/team/b.yml", strings.Repeat("b: 2\r\n", 1000))
			r.commit("As it is")
			r.git("config", "core.autocrlf", "true")
		}, onDisk: "sealed\r\na: 1\r\n"},
		"core.worktree": {prepare: func(r *repository) {
			r.must(os.Rename(r.path(".git"), r.path("../git")))
			r.write(".git", "gitdir: ../git\n")
			r.git("config", "core.worktree", r.dir)
		}},
		"a linked work tree": {prepare: func(r *repository) {
			r.git("checkout", "--quiet", "--detach")
			r.git("worktree", "add", "--quiet", "../linked", "main")
			r.dir = r.path("../linked")
		}},
		"a partial clone": {prepare: func(r *repository) {
			r.git("config", "uploadpack.allowFilter", "true")
			r.must(os.Rename(r.dir, r.path("../origin")))
			(&repository{tb: r.tb, dir: filepath.Dir(r.dir)}).git("clone", "--quiet", "--filter=blob:none", "file://"+r.path("../origin"), "clone")
			r.must(os.Rename(r.path("../origin"), r.path("../gone")))
		}},
		"skip-worktree": {prepare: func(r *repository) { r.git("update-index", "--skip-worktree", "README.md") }, check: func(r *repository) {
			if flags := r.git("ls-files", "-v", "README.md"); flags != "S README.md\n" {
				r.tb.Errorf("the flags are gone: %q", flags)
			}
		}},
		"eol":           {prepare: attributes("*.yaml text eol=crlf"), onDisk: "sealed\r\na: 1\r\n"},
		"core.autocrlf": {prepare: config("core.autocrlf", "true"), onDisk: "sealed\r\na: 1\r\n"},
		"core.eol": {prepare: func(r *repository) {
			r.git("config", "core.eol", "crlf")
			attributes("* text=auto")(r)
		}, onDisk: "sealed\r\na: 1\r\n"},
		"ident":                 {prepare: attributes("*.yaml ident")},
		"working-tree-encoding": {prepare: attributes("signed/a.yaml working-tree-encoding=UTF-16LE"), onDisk: "s\x00e\x00a\x00l\x00e\x00d\x00\n\x00a\x00:\x00 \x001\x00\n\x00"},
		"core.fileMode": {prepare: func(r *repository) {
			r.git("config", "core.fileMode", "false")
			r.must(os.Chmod(r.path("unsigned/a.yaml"), 0o755))
		}},
		"alternates": {prepare: func(r *repository) {
			r.git("clone", "--quiet", "--bare", ".", "../cache.git")
			r.must(os.RemoveAll(r.dir))
			(&repository{tb: r.tb, dir: filepath.Dir(r.dir)}).git("clone", "--quiet", "--shared", "cache.git", "clone")
		}},
		"hooks": {prepare: func(r *repository) {
			for _, hook := range []string{"pre-commit", "post-commit", "reference-transaction", "post-checkout", "post-index-change", "pre-auto-gc"} {
				r.script(".git/hooks/"+hook, "#!/bin/sh\nexit 1\n")
			}
		}, check: func(r *repository) { r.must(os.RemoveAll(r.path(".git/hooks"))) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t, waiting)
			tc.prepare(r)
			if got := r.run("commit"); got.Err != "" || got.Commit == "" {
				t.Fatalf("%+v", got)
			}
			if tc.check != nil {
				tc.check(r)
			}
			r.clean()
			if tc.onDisk == "" {
				tc.onDisk = "sealed\na: 1\n"
			}
			expect.Is(t, "on disk", tc.onDisk, r.read("signed/a.yaml"))
			expect.Is(t, "the commit", "sealed\na: 1\n", r.git("cat-file", "blob", "HEAD:signed/a.yaml"))
			if got := r.line("reflog", "-1", "--format=%gs %gn", "HEAD"); got != "commit: Sign 3 Polex Bot" || r.line("reflog", "-1", "--format=%gs %gn", "main") != got {
				t.Errorf("the reflog says %q", got)
			}
		})
	}
}

// TestEnvironment: no variable makes Git use another repository, index or work tree.
func TestEnvironment(t *testing.T) {
	other := newRepository(t, map[string]string{"theirs": "x"})
	before := endOf(other, "commit")
	r := newRepository(t, waiting)
	got := start(t, order{Dir: r.dir, Mode: "commit", KillAt: -1}, "GIT_DIR="+other.path(".git"), "GIT_WORK_TREE="+other.dir, "GIT_INDEX_FILE="+other.path(".git/index"),
		"GIT_OBJECT_DIRECTORY="+other.path(".git/objects"), "GIT_COMMON_DIR="+other.path(".git"), "GIT_NAMESPACE=x", "GIT_LITERAL_PATHSPECS=0", "GIT_GLOB_PATHSPECS=1",
		"GIT_ATTR_SOURCE=nowhere", "GIT_REFLOG_ACTION=x", "LC_ALL=de_DE.UTF-8")
	if got.Err != "" || got.Commit != r.head() {
		t.Errorf("%+v", got)
	}
	r.clean()
	expect.Is(t, "state", before, endOf(other, "commit"))
}

// TestTwoWorkTrees: concurrent runs in two work trees of one repository both make their commit.
func TestTwoWorkTrees(t *testing.T) {
	files := map[string]string{}
	for i := range 150 {
		files[fmt.Sprintf("unsigned/%d.yaml", i)] = fmt.Sprintf("n: %d\n", i)
	}
	r := newRepository(t, files)
	trees := []*repository{r}
	for _, name := range []string{"b", "c"} {
		linked := &repository{tb: t, dir: filepath.Join(filepath.Dir(r.dir), name)}
		r.git("worktree", "add", "--quiet", "-b", name, linked.dir)
		trees = append(trees, linked)
	}
	results := make([]*done, len(trees))
	var all sync.WaitGroup
	for i, tree := range trees {
		all.Go(func() { results[i] = start(t, order{Dir: tree.dir, Mode: "commit", KillAt: -1}) })
	}
	all.Wait()
	for i, tree := range trees {
		if results[i].Err != "" || results[i].Commit != tree.head() {
			t.Errorf("%+v", results[i])
		}
		tree.clean()
	}
}

// TestAnyPath: file names of others may contain any bytes, also if a run is killed.
func TestAnyPath(t *testing.T) {
	names := []string{"caf\xe9.txt", "line\nbreak", "tab\t\"quoted\"\\", "*.yaml", ":(top)x", "-f", "signed/\xff/\xfe.yaml", " "}
	step := 3
	if *long {
		step = 1
	}
	for n := 0; ; n += step {
		r := newRepository(t, waiting)
		other := r.bare().clone("other")
		for _, name := range names {
			other.write(name, "theirs\n")
		}
		other.commit("Names")
		other.git("push", "--quiet")
		killed := r.runUntil(n, "push") == nil
		if again := r.run("push"); again.Err != "" || again.Left != "" {
			t.Fatalf("killed at %d: %+v", n, again)
		}
		r.killed = true
		r.clean()
		for _, name := range names {
			expect.Is(t, fmt.Sprintf("killed at %d: %q holds", n, name), "theirs\n", r.read(name))
		}
		if !killed {
			if n < len(stepsOf["push"]) {
				t.Errorf("only %d steps", n)
			}
			return
		}
	}
}

// TestRacyIndex: a changed file is detected even if it has the same size and the time of the index.
func TestRacyIndex(t *testing.T) {
	r := newRepository(t, waiting)
	r.git("config", "core.trustCTime", "false")
	then := committedAt
	r.must(os.Chtimes(r.path("README.md"), then, then))
	r.git("update-index", "--refresh")
	r.write("README.md", "# exceptions\n")
	for _, name := range []string{"README.md", ".git/index"} {
		r.must(os.Chtimes(r.path(name), then, then))
	}
	r.succeeds("commit")
	expect.Is(t, "git status", " M README.md\n", r.git("status", "--porcelain"))
}

// TestReadBack: a commit that differs from the expected one changes nothing.
func TestReadBack(t *testing.T) {
	real := expect.Value(exec.LookPath("git"))(t)
	for name, tc := range map[string]struct{ instead, want string }{
		"another commit":  {`"$REAL" "$@" >/dev/null; exec "$REAL" rev-parse HEAD`, "differs from the intended one"},
		"another content": {`sed 's/^sealed$/forged/' | "$REAL" "$@"; exit`, "has different content"},
		"another file":    {`sed 's/signed.a.yaml/.github\/a.yaml/' | "$REAL" "$@"; exit`, "is changed unintentionally"},
		"a file less":     {`sed '/^D/d' | "$REAL" "$@"; exit`, "3 files are changed, expected 6"},
		"another message": {`sed 's/^Sign 3$/Sign 4/' | "$REAL" "$@"; exit`, "differs from the intended one"},
		"no hash":         {`echo yes; exit`, `answered "yes"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, waiting)
			before := endOf(r, "commit")
			bin := t.TempDir()
			script := "#!/bin/sh\nREAL='" + real + "'\ncase \"$*\" in *fast-import*) " + tc.instead + ";; esac\nexec \"$REAL\" \"$@\"\n"
			r.must(os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755))
			got := r.run("commit", "PATH="+bin+":"+os.Getenv("PATH"))
			expect.Contains(t, got.Err, tc.want)
			r.clean()
			expect.Is(t, "state", before, endOf(r, "commit"))
		})
	}
}

// TestLargeBases: a file is readable even if Git stores it as a delta of a much larger file of
// another branch.
func TestLargeBases(t *testing.T) {
	r := newRepository(t, waiting)
	const name = "unsigned/team/b.yml"
	r.git("checkout", "--quiet", "-b", "other")
	for _, lines := range []int{9_000_000, 900_000, 30_000} { // Git makes a delta if the size is at least 1/32 of its base
		r.write(name, strings.Repeat("b: 2\n", lines))
		r.commit("Larger")
	}
	r.git("checkout", "--quiet", "main")
	r.git("repack", "-a", "-d", "-f", "--quiet", "--threads=1")
	base, depth := r.line("rev-parse", "main:"+name), 0
	for ; strings.Trim(base, "0") != ""; depth++ {
		cmd := exec.Command("git", "-C", r.dir, "cat-file", "--batch-check=%(deltabase)")
		cmd.Stdin = strings.NewReader(base + "\n")
		said, err := cmd.Output()
		r.must(err)
		base = strings.TrimSpace(string(said))
	}
	if depth != 4 {
		t.Fatalf("there are %d bases", depth-1)
	}
	if got := r.run("commit"); got.Err != "" || got.Commit == "" {
		t.Errorf("%+v", got)
	}
	r.clean()
}

// TestUnreadableSettings: a setting that Git cannot read is not one that is not set. A key without a
// value is true.
func TestUnreadableSettings(t *testing.T) {
	open := func(*commit.Clone) error { return nil }
	for name, tc := range map[string]struct {
		config string // at the end of the clone's
		ask    func(*commit.Clone) error
		says   string
	}{
		"a line that is none":     {"[core\n", open, "bad config line"},
		"an include that is none": {"[include]\n\tpath = broken\n", open, "bad config line"},
		"commit.gpgSign": {"[commit]\n\tgpgSign = maybe\n", func(c *commit.Clone) error {
			_, err := c.SignsCommits()
			return err
		}, "bad boolean config value 'maybe' for 'commit.gpgsign'"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, nil)
			r.write(".git/broken", "[core\n")
			file := expect.Value(os.OpenFile(r.path(".git/config"), os.O_APPEND|os.O_WRONLY, 0))(t)
			_, err := file.WriteString(tc.config)
			expect.OK(t, errors.Join(err, file.Close()))
			c, err := commit.Open(commit.Options{Dir: r.dir})
			if err == nil {
				err = errors.Join(tc.ask(c), c.Close())
			}
			expect.Error(t, err, tc.says)
		})
	}
}

// TestFormatsRefused: Open rejects repositories in other formats.
func TestFormatsRefused(t *testing.T) {
	for name, tc := range map[string]struct{ extension, want string }{
		"references in tables": {"refStorage = reftable", "refstorage"},
		"SHA-256":              {"objectFormat = sha256", "only repositories with SHA-1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, waiting)
			r.git("config", "core.repositoryFormatVersion", "1")
			r.write(".git/config", r.read(".git/config")+"[extensions]\n\t"+tc.extension+"\n")
			if got := r.run("nothing"); !strings.Contains(got.Err, tc.want) {
				t.Errorf("it ended with %q", got.Err)
			}
		})
	}
	// A repository inside the files of another one, which a pull request could add.
	outer := newRepository(t, waiting)
	outer.git("init", "--quiet", "--bare", "inner")
	outer.git("-C", "inner", "config", "core.bare", "false")
	outer.git("-C", "inner", "config", "core.worktree", "..")
	if got := start(t, order{Dir: outer.path("inner"), Mode: "nothing", KillAt: -1}); !strings.Contains(got.Err, "bareRepository") {
		t.Errorf("a repository among the files ended with %+v", got)
	}
	bare := newRepository(t, waiting).bare()
	if got := bare.run("nothing"); got.Err == "" {
		t.Error("a bare repository was opened")
	}
}
