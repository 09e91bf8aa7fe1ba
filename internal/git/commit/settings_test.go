//go:build unix

package commit_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/gitrepo"
	"github.com/polex-dev/polex/test/must"
)

// TestSettings: Git writes, so polex respects the settings of the repository and the user. Git then
// reports a clean clone, and the commit contains the proposed change.
func TestSettings(t *testing.T) {
	attributes := func(line string) func(*repository) {
		return func(r *repository) {
			r.CommitFile("Attributes", ".gitattributes", line+"\n")
			must.Do(r.TB, os.RemoveAll(r.Path("unsigned")))
			r.Git("checkout", "--quiet", "--", "unsigned")
		}
	}
	// run runs commands of Git.
	run := func(commands ...string) func(*repository) {
		return func(r *repository) {
			for _, command := range commands {
				r.Git(strings.Fields(command)...)
			}
		}
	}
	for name, tc := range map[string]struct {
		prepare func(*repository)
		onDisk  string // content of signed/a.yaml
		check   func(*repository)
	}{
		"nothing":                      {prepare: func(*repository) {}},
		"split index":                  {prepare: run("update-index --split-index")},
		"index.skipHash and version 4": {prepare: run("config index.skipHash true", "update-index --index-version=4")},
		"a hidden change elsewhere": {prepare: func(r *repository) {
			r.Git("update-index", "--assume-unchanged", "README.md")
			r.Write("README.md", "mine\n")
		}, check: func(r *repository) { expect.Is(r.TB, "README.md", "mine\n", r.Read("README.md")) }},
		"a sparse checkout": {prepare: run("sparse-checkout set unsigned"), check: func(r *repository) {
			expect.Is(r.TB, "the commit", "x\n", r.Git("show", "HEAD:signed.txt"))
		}},
		"a sparse index": {prepare: run("sparse-checkout set --cone --sparse-index signed"),
			check: func(r *repository) {
				expect.Is(r.TB, "still pending", "", r.Git("ls-tree", "-r", "--name-only", "HEAD", "unsigned"))
			}},
		"a filter": {prepare: func(r *repository) {
			r.Git("config", "filter.upper.clean", "tr A-Z a-z")
			r.Git("config", "filter.upper.smudge", "tr a-z A-Z")
			attributes("*.yaml filter=upper")(r)
		}, onDisk: "SEALED\nA: 1\n"},
		"committed with other line ends": {prepare: func(r *repository) {
			r.Git("config", "core.autocrlf", "false")
			r.CommitFile("As it is", "unsigned/team/b.yml", strings.Repeat("b: 2\r\n", 1000))
			r.Git("config", "core.autocrlf", "true")
		}, onDisk: "sealed\r\na: 1\r\n"},
		"core.worktree": {prepare: func(r *repository) {
			must.Do(r.TB, os.Rename(r.Path(".git"), r.Path("../git")))
			r.Write(".git", "gitdir: ../git\n")
			r.Git("config", "core.worktree", r.Dir)
		}},
		"a linked work tree": {prepare: func(r *repository) {
			r.Git("checkout", "--quiet", "--detach")
			r.Git("worktree", "add", "--quiet", "../linked", "main")
			r.Dir = r.Path("../linked")
		}},
		"a partial clone": {prepare: func(r *repository) {
			r.Git("config", "uploadpack.allowFilter", "true")
			must.Do(r.TB, os.Rename(r.Dir, r.Path("../origin")))
			(repositoryAt(r.TB, filepath.Dir(r.Dir))).Git("clone", "--quiet", "--filter=blob:none", "file://"+r.Path("../origin"), "clone")
			must.Do(r.TB, os.Rename(r.Path("../origin"), r.Path("../gone")))
		}},
		"skip-worktree": {prepare: run("update-index --skip-worktree README.md"), check: func(r *repository) {
			expect.Is(r.TB, "flags", "S README.md\n", r.Git("ls-files", "-v", "README.md"))
		}},
		"eol":           {prepare: attributes("*.yaml text eol=crlf"), onDisk: "sealed\r\na: 1\r\n"},
		"core.autocrlf": {prepare: run("config core.autocrlf true"), onDisk: "sealed\r\na: 1\r\n"},
		"core.eol": {prepare: func(r *repository) {
			r.Git("config", "core.eol", "crlf")
			attributes("* text=auto")(r)
		}, onDisk: "sealed\r\na: 1\r\n"},
		"ident":                 {prepare: attributes("*.yaml ident")},
		"working-tree-encoding": {prepare: attributes("signed/a.yaml working-tree-encoding=UTF-16LE"), onDisk: "s\x00e\x00a\x00l\x00e\x00d\x00\n\x00a\x00:\x00 \x001\x00\n\x00"},
		"core.fileMode": {prepare: func(r *repository) {
			r.Git("config", "core.fileMode", "false")
			must.Do(r.TB, os.Chmod(r.Path("unsigned/a.yaml"), 0o755))
		}},
		"alternates": {prepare: func(r *repository) {
			r.Git("clone", "--quiet", "--bare", ".", "../cache.git")
			must.Do(r.TB, os.RemoveAll(r.Dir))
			(repositoryAt(r.TB, filepath.Dir(r.Dir))).Git("clone", "--quiet", "--shared", "cache.git", "clone")
		}},
		"hooks": {prepare: func(r *repository) {
			for _, hook := range []string{"pre-commit", "post-commit", "reference-transaction", "post-checkout", "post-index-change", "pre-auto-gc"} {
				r.script(".git/hooks/"+hook, "#!/bin/sh\nexit 1\n")
			}
		}, check: func(r *repository) { must.Do(r.TB, os.RemoveAll(r.Path(".git/hooks"))) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t, waiting)
			tc.prepare(r)
			got := r.run("commit")
			must.That(t, got.Err == "" && got.Commit != "", "%+v", got)
			if tc.check != nil {
				tc.check(r)
			}
			r.clean()
			if tc.onDisk == "" {
				tc.onDisk = "sealed\na: 1\n"
			}
			expect.Is(t, "on disk", tc.onDisk, r.Read("signed/a.yaml"))
			expect.Is(t, "the commit", "sealed\na: 1\n", r.Git("cat-file", "blob", "HEAD:signed/a.yaml"))
			if got := r.Line("reflog", "-1", "--format=%gs %gn", "HEAD"); got != "commit: Sign 3 Polex Bot" || r.Line("reflog", "-1", "--format=%gs %gn", "main") != got {
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
	got := start(t, order{Dir: r.Dir, Mode: "commit", KillAt: -1}, "GIT_DIR="+other.Path(".git"), "GIT_WORK_TREE="+other.Dir, "GIT_INDEX_FILE="+other.Path(".git/index"),
		"GIT_OBJECT_DIRECTORY="+other.Path(".git/objects"), "GIT_COMMON_DIR="+other.Path(".git"), "GIT_NAMESPACE=x", "GIT_LITERAL_PATHSPECS=0", "GIT_GLOB_PATHSPECS=1",
		"GIT_ATTR_SOURCE=nowhere", "GIT_REFLOG_ACTION=x", "LC_ALL=de_DE.UTF-8")
	expect.That(t, got.Err == "" && got.Commit == r.Head(), "%+v", got)
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
		trees = append(trees, r.link(name))
	}
	results := make([]*done, len(trees))
	var all sync.WaitGroup
	for i, tree := range trees {
		all.Go(func() { results[i] = start(t, order{Dir: tree.Dir, Mode: "commit", KillAt: -1}) })
	}
	all.Wait()
	for i, tree := range trees {
		expect.That(t, results[i].Err == "" && results[i].Commit == tree.Head(), "%+v", results[i])
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
			other.Write(name, "theirs\n")
		}
		other.Commit("Names")
		other.Git("push", "--quiet")
		killed := r.runUntil(n, "push") == nil
		again := r.run("push")
		must.That(t, again.Err == "" && again.Left == "", "killed at %d: %+v", n, again)
		r.killed = true
		r.clean()
		for _, name := range names {
			expect.Is(t, fmt.Sprintf("killed at %d: %q holds", n, name), "theirs\n", r.Read(name))
		}
		if !killed {
			expect.That(t, n >= len(stepsOf["push"]), "only %d steps", n)
			return
		}
	}
}

// TestRacyIndex: a changed file is detected even if it has the same size and the time of the index.
func TestRacyIndex(t *testing.T) {
	r := newRepository(t, waiting)
	r.Git("config", "core.trustCTime", "false")
	then := committedAt
	must.Do(r.TB, os.Chtimes(r.Path("README.md"), then, then))
	r.Git("update-index", "--refresh")
	r.Write("README.md", "# exceptions\n")
	for _, name := range []string{"README.md", ".git/index"} {
		must.Do(r.TB, os.Chtimes(r.Path(name), then, then))
	}
	r.succeeds("commit")
	expect.Is(t, "git status", " M README.md\n", r.Git("status", "--porcelain"))
}

// TestReadBack: a commit that differs from the expected one changes nothing.
func TestReadBack(t *testing.T) {
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
			gitrepo.Instead(t, "fast-import", tc.instead)
			got := r.run("commit")
			expect.Contains(t, got.Err, tc.want)
			r.clean()
			expect.Is(t, "state", before, endOf(r, "commit"))
		})
	}
}

// TestLargeBases: a file is readable even if Git stores it as a delta of a much larger file of another branch.
func TestLargeBases(t *testing.T) {
	r := newRepository(t, waiting)
	const name = "unsigned/team/b.yml"
	r.Git("checkout", "--quiet", "-b", "other")
	for _, lines := range []int{9_000_000, 900_000, 30_000} { // Git makes a delta if the size is at least 1/32 of its base
		r.CommitFile("Larger", name, strings.Repeat("b: 2\n", lines))
	}
	r.Git("checkout", "--quiet", "main")
	r.Git("repack", "-a", "-d", "-f", "--quiet", "--threads=1")
	base, depth := r.Line("rev-parse", "main:"+name), 0
	for ; strings.Trim(base, "0") != ""; depth++ {
		cmd := exec.Command("git", "-C", r.Dir, "cat-file", "--batch-check=%(deltabase)")
		cmd.Stdin = strings.NewReader(base + "\n")
		base = strings.TrimSpace(must.Output(t, cmd))
	}
	must.That(t, depth == 4, "there are %d bases", depth-1)
	got := r.run("commit")
	expect.That(t, got.Err == "" && got.Commit != "", "%+v", got)
	r.clean()
}

// TestUnreadableSettings: a setting that Git cannot read is not one that is not set. A key without a value is true.
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
			r.Write(".git/broken", "[core\n")
			file := must.Get(os.OpenFile(r.Path(".git/config"), os.O_APPEND|os.O_WRONLY, 0))(t)
			_, err := file.WriteString(tc.config)
			must.Do(t, errors.Join(err, file.Close()))
			c, err := commit.Open(commit.Options{Dir: r.Dir})
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
			r.Git("config", "core.repositoryFormatVersion", "1")
			r.Write(".git/config", r.Read(".git/config")+"[extensions]\n\t"+tc.extension+"\n")
			got := r.run("nothing")
			expect.That(t, strings.Contains(got.Err, tc.want), "it ended with %q", got.Err)
		})
	}
	// A repository inside the files of another one, which a pull request could add.
	outer := newRepository(t, waiting)
	outer.Git("init", "--quiet", "--bare", "inner")
	outer.Git("-C", "inner", "config", "core.bare", "false")
	outer.Git("-C", "inner", "config", "core.worktree", "..")
	got := start(t, order{Dir: outer.Path("inner"), Mode: "nothing", KillAt: -1})
	expect.That(t, strings.Contains(got.Err, "bareRepository"), "a repository among the files ended with %+v", got)
	bare := newRepository(t, waiting).bare()
	expect.That(t, bare.run("nothing").Err != "", "a bare repository was opened")
}

// TestInterruptedReads: a terminal interrupts every process of the run's group. The Git that reads
// objects is not in that group.
func TestInterruptedReads(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ps has other options")
	}
	must.Get(newRepository(t, waiting).open().Resolve("HEAD"))(t)
	out := must.Output(t, exec.Command("ps", "-o", "pid=,pgid=,args=", "--ppid", strconv.Itoa(os.Getpid())))
	met := false
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); strings.Contains(line, "cat-file --batch") {
			met = true
			expect.That(t, fields[0] == fields[1], "it is of another's group: %s", line)
		}
	}
	expect.That(t, met, "nothing reads:\n%s", out)
}
