package commit_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// cutOff returns a repository in which a run was killed before a step.
func cutOff(t *testing.T, step string) *repository {
	t.Helper()
	r := newRepository(t, waiting)
	alone := r.copy()
	n := slices.Index(start(t, order{Dir: alone.dir, Mode: "commit", KillAt: -1}).Steps, step)
	if n < 0 {
		t.Fatalf("there is no step %q", step)
	}
	if start(t, order{Dir: r.dir, Mode: "commit", KillAt: n}) != nil {
		t.Fatal("it was not killed")
	}
	return r
}

// TestRecoverElsewhere: HEAD has moved since a run was killed. The next run undoes or finishes the
// change and does not touch the files of others.
func TestRecoverElsewhere(t *testing.T) {
	steps := []string{"write the files", "sync the files", "remove files from the index", "move refs/heads/main"}
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			r := cutOff(t, step)
			r.must(os.Remove(r.path(".git/index.lock"))) // as a user who wants to continue
			r.git("stash", "--include-untracked", "--quiet")
			r.write("later.txt", "x\n")
			later := r.commit("Later")
			_, _ = r.try("stash", "pop", "--quiet", "--index")
			got := start(t, order{Dir: r.dir, Mode: "nothing", KillAt: -1})
			if got.Err != "" || got.Recovered != "undid the changes of an interrupted run" {
				t.Fatalf("the next run says %+v", got)
			}
			r.clean()
			if r.head() != later {
				t.Error("HEAD has moved")
			}
		})
	}
	t.Run("committed upon", func(t *testing.T) {
		r := cutOff(t, "remove unsigned/team/b.yml")
		r.must(os.Remove(r.path(".git/index.lock")))
		r.write("later.txt", "x\n")
		r.git("add", "later.txt")
		r.git("commit", "--quiet", "--message=Later")
		if got := start(t, order{Dir: r.dir, Mode: "nothing", KillAt: -1}); got.Err != "" {
			t.Fatalf("the next run says %+v", got)
		}
		r.clean()
		if _, err := os.Stat(r.path("unsigned")); err == nil {
			t.Error("unsigned files are left")
		}
	})
	t.Run("another branch", func(t *testing.T) {
		r := cutOff(t, "write the files")
		r.must(os.Remove(r.path(".git/index.lock")))
		r.git("checkout", "--quiet", "-b", "topic")
		if got := start(t, order{Dir: r.dir, Mode: "nothing", KillAt: -1}); !strings.HasPrefix(got.Recovered, "undid") {
			t.Fatalf("the next run says %+v", got)
		}
		r.clean()
		if r.line("rev-list", "--count", "--all") != "1" {
			t.Error("something was committed")
		}
	})
}

// TestRecoverLeavesOthers: a file with neither the old nor the new content belongs to a user and
// stays. The error contains a correction, and after it the next run continues.
func TestRecoverLeavesOthers(t *testing.T) {
	for _, tc := range []struct{ step, file string }{
		{"sync the files", "signed/a.yaml"},
		{"write the files", "signed/team/b.yml"},
		{"remove unsigned/team/b.yml", "unsigned/team/b.yml"},
		{"replace the index", "signed/a.yaml"},
	} {
		t.Run(tc.step+", "+tc.file, func(t *testing.T) {
			r := cutOff(t, tc.step)
			r.write(tc.file, "mine\n")
			got := start(t, order{Dir: r.dir, Mode: "nothing", KillAt: -1})
			if !strings.Contains(got.Err, tc.file) || !strings.Contains(got.Err, "an earlier run was interrupted") || !strings.Contains(got.Err, "git status") {
				t.Errorf("the next run says %+v", got)
			}
			if r.read(tc.file) != "mine\n" {
				t.Error("the file was overwritten")
			}
			r.must(os.Remove(r.path(tc.file)))
			if strings.HasPrefix(tc.file, "unsigned/") {
				r.must(os.RemoveAll(r.path(tc.file)))
			}
			if got := start(t, order{Dir: r.dir, Mode: "commit", KillAt: -1}); got.Err != "" {
				t.Errorf("after it was put right, the next run says %+v", got)
			}
			r.clean()
		})
	}
}

// TestCollected: git gc keeps the objects of a killed run, also in another work tree.
func TestCollected(t *testing.T) {
	steps := start(t, order{Dir: newRepository(t, waiting).dir, Mode: "commit", KillAt: -1}).Steps
	for _, linked := range []bool{false, true} {
		for n := slices.Index(steps, "write the journal") + 1; n < len(steps)-1; n += 2 {
			r := newRepository(t, waiting)
			killed := r
			if linked {
				killed = &repository{tb: t, dir: filepath.Join(filepath.Dir(r.dir), "linked")}
				r.git("worktree", "add", "--quiet", "-b", "linked", killed.dir)
			}
			if start(t, order{Dir: killed.dir, Mode: "commit", KillAt: n}) != nil {
				t.Fatal("it was not killed")
			}
			r.git("reflog", "expire", "--expire=now", "--all")
			r.git("gc", "--quiet", "--prune=now")
			if got := start(t, order{Dir: killed.dir, Mode: "nothing", KillAt: -1}); got.Err != "" || !strings.HasPrefix(got.Recovered, "finished the commit") {
				t.Errorf("linked: %t, killed before %q: %+v", linked, steps[n], got)
			}
			killed.clean()
		}
	}
}

// TestForeignJournal: polex ignores a journal that no run has written.
func TestForeignJournal(t *testing.T) {
	for name, text := range map[string]string{
		"something else":     "Fix it\n",
		"a later format":     "polex journal 2\n\nrefs/heads/main\nfiles\nx\n",
		"another scope":      "polex journal 1\n\nrefs/heads/main\nall of it\nx\n",
		"no branch":          "polex journal 1\n\n../../x\nfiles\nx\n",
		"a commit too few":   "polex journal 1\n\nrefs/heads/main\nfiles\nx\n",
		"not a commit":       "",
		"a leading to other": "ref",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, waiting)
			r.write("later.txt", "x")
			first, second := r.head(), r.commit("Second")
			parents := []string{"-p", first, "-p", second}
			if name == "a commit too few" {
				parents = parents[:2]
			}
			switch text {
			case "":
				r.git("update-ref", "POLEX_HEAD", "HEAD:README.md")
			case "ref":
				r.git("symbolic-ref", "POLEX_HEAD", "refs/heads/main")
			default:
				journal := r.line(append([]string{"commit-tree", "HEAD^{tree}", "-m", strings.TrimSuffix(text, "\n")}, parents...)...)
				r.git("update-ref", "POLEX_HEAD", journal)
			}
			if got := start(t, order{Dir: r.dir, Mode: "commit", KillAt: -1}); !strings.Contains(got.Err, "its journal") || !strings.Contains(got.Err, "git update-ref -d POLEX_HEAD") {
				t.Errorf("it ended with %+v", got)
			}
			if status := r.git("status", "--porcelain"); status != "" || r.head() != second {
				t.Errorf("git status %q", status)
			}
		})
	}
}

// TestFetchedJournal: polex ignores a pushed journal, even if the clone fetches every reference of
// the remote.
func TestFetchedJournal(t *testing.T) {
	r := newRepository(t, waiting)
	first := r.head()
	r.write("planted.txt", "x")
	planted := r.commit("Planted")
	r.git("reset", "--quiet", "--hard", first)
	journal := r.line("commit-tree", "HEAD^{tree}", "-m", "polex journal 1\n\nrefs/heads/main\nbranch, index and files\nx", "-p", first, "-p", planted)
	r.git("update-ref", "POLEX_HEAD", journal)
	if got := start(t, order{Dir: r.dir, Mode: "nothing", KillAt: -1}); r.head() != planted {
		t.Fatalf("this journal says nothing: %+v", got)
	}
	r.git("reset", "--quiet", "--hard", first)
	remote := t.TempDir()
	r.git("init", "--quiet", "--bare", remote)
	for _, name := range []string{"refs/worktree/polex/journal", "refs/polex/journal", "refs/polex/main/journal", "refs/heads/POLEX_HEAD", "refs/tags/POLEX_HEAD"} {
		r.git("push", "--quiet", remote, journal+":"+name)
	}
	r.git("fetch", "--quiet", "--update-head-ok", remote, "+refs/*:refs/*")
	if got := start(t, order{Dir: r.dir, Mode: "nothing", KillAt: -1}); got.Err != "" || r.head() != first {
		t.Errorf("main is %s, %+v", r.head(), got)
	}
}
