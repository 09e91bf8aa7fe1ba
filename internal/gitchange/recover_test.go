package gitchange_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// cutOff is a repository in which a run was killed before a step.
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

// TestRecoverElsewhere: when HEAD has gone on since a run was killed, what it
// began is taken back, or what its commit asks for is done, and nothing of
// anybody else is touched.
func TestRecoverElsewhere(t *testing.T) {
	steps := []string{"lock index", "rename signed/team/b.yml", "replace index", "replace refs/heads/main"}
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			r := cutOff(t, step)
			for _, lock := range []string{"index.lock", "refs/heads/main.lock"} {
				_ = os.Remove(r.path(".git/" + lock)) // as somebody who wants to go on would
			}
			r.git("stash", "--include-untracked", "--quiet")
			r.write("later.txt", "x\n")
			later := r.commit("Later")
			_, _ = r.try("stash", "pop", "--quiet", "--index")
			got := start(t, order{Dir: r.dir, Mode: "nothing", KillAt: -1})
			if got.Err != "" || got.Recovered != "took back what a run that was cut off had begun" {
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
		r := cutOff(t, "lock index")
		r.git("checkout", "--quiet", "-b", "topic")
		if got := start(t, order{Dir: r.dir, Mode: "nothing", KillAt: -1}); !strings.HasPrefix(got.Recovered, "took back") {
			t.Fatalf("the next run says %+v", got)
		}
		r.clean()
		if r.line("rev-list", "--count", "--all") != "1" {
			t.Error("something was committed")
		}
	})
}

// TestRecoverLeavesOthers: a file that is neither what it was nor what it was to
// be is somebody's, and stays; what to do is said, and once it is done the next
// run goes on.
func TestRecoverLeavesOthers(t *testing.T) {
	for _, tc := range []struct{ step, file string }{
		{"rename signed/team/b.yml", "signed/a.yaml"},
		{"rename signed/team/b.yml", "signed/team/b.yml"},
		{"remove unsigned/team/b.yml", "unsigned/team/b.yml"},
		{"replace index", "signed/a.yaml"},
	} {
		t.Run(tc.step+", "+tc.file, func(t *testing.T) {
			r := cutOff(t, tc.step)
			r.write(tc.file, "mine\n")
			got := start(t, order{Dir: r.dir, Mode: "nothing", KillAt: -1})
			if !strings.Contains(got.Err, tc.file) || !strings.Contains(got.Err, "an earlier run was cut off") || !strings.Contains(got.Err, "git status") {
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

// TestForeignJournal: a journal that no run has written is not acted upon.
func TestForeignJournal(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":        "{",
		"a later format": `{"version":2}`,
		"outside":        `{"version":1,"branch":"refs/heads/main","edits":[{"path":"../x","newMode":"100644","new":"5626abf0f72e58d7a153368ba57db4c673c0e171"}]}`,
		"Git's own":      `{"version":1,"branch":"refs/heads/main","edits":[{"path":".git/hooks/pre-commit","newMode":"100755","new":"5626abf0f72e58d7a153368ba57db4c673c0e171"}]}`,
		"no hash":        `{"version":1,"branch":"refs/heads/main","edits":[{"path":"x","newMode":"100644","new":"x"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, waiting)
			r.write(".git/polex/journal.json", text)
			if got := start(t, order{Dir: r.dir, Mode: "commit", KillAt: -1}); !strings.Contains(got.Err, "its journal") {
				t.Errorf("it ended with %+v", got)
			}
			if status := r.git("status", "--porcelain"); status != "" {
				t.Errorf("git status %q", status)
			}
		})
	}
}
