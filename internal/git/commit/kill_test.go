package commit_test

import (
	"slices"
	"strings"
	"testing"
)

// TestKilledAnywhere: a run is killed before each of its steps, or after the last, and repeated.
// The result is equal to that of an undisturbed run. A first run lists the steps, so that none is
// missing.
func TestKilledAnywhere(t *testing.T) {
	for _, mode := range []string{"commit", "apply", "push"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			origin := newRepository(t, waiting)
			if mode == "push" {
				origin.bare()
			}
			alone := origin.copy()
			undisturbed := start(t, order{Dir: alone.dir, Mode: mode, KillAt: -1})
			if undisturbed.Err != "" || mode != "apply" && undisturbed.Commit == "" {
				t.Fatalf("undisturbed: %+v", undisturbed)
			}
			want := endOf(alone, mode)
			if len(undisturbed.Steps) < 10 {
				t.Errorf("only %d steps: %q", len(undisturbed.Steps), undisturbed.Steps)
			}
			t.Logf("%d steps: %s", len(undisturbed.Steps), strings.Join(slices.Compact(undisturbed.Steps), ", "))
			for n, step := range undisturbed.Steps {
				r := origin.copy()
				r.tb = t
				if start(t, order{Dir: r.dir, Mode: mode, KillAt: n}) != nil {
					t.Fatalf("it was not killed before step %d, %s", n, step)
				}
				again := start(t, order{Dir: r.dir, Mode: mode, KillAt: -1})
				if again.Err != "" {
					t.Errorf("killed before %q, and run again: %s", step, again.Err)
				}
				if got := endOf(r, mode); got != want {
					t.Errorf("killed before %q: the end is\n%s\nand undisturbed\n%s", step, got, want)
				}
			}
		})
	}
}

// endOf returns the whole visible state after a run.
func endOf(r *repository, mode string) string {
	r.tb.Helper()
	if mode != "apply" {
		r.clean()
	}
	end := r.git("log", "--format=%H %s %P", "main") + r.git("ls-files", "--stage") + r.git("status", "--porcelain", "--untracked-files=all")
	if mode == "push" {
		end += r.git("ls-remote", "origin")
	}
	return end + strings.Join(files(r), "\n")
}

// files returns the files of the work tree with their content.
func files(r *repository) []string {
	r.tb.Helper()
	var found []string
	names := r.line("ls-files", "--cached", "--others", "--deduplicate")
	for name := range strings.SplitSeq(names, "\n") {
		content := "(removed)"
		if out, err := r.try("hash-object", "--", name); err == nil {
			content = strings.TrimSpace(out)
		}
		found = append(found, name+" "+content)
	}
	return found
}

// TestKilledTwice: the same for a run that is also killed during the recovery.
func TestKilledTwice(t *testing.T) {
	t.Parallel()
	origin := newRepository(t, waiting)
	alone := origin.copy()
	undisturbed := start(t, order{Dir: alone.dir, Mode: "commit", KillAt: -1})
	want := endOf(alone, "commit")
	journal := slices.Index(undisturbed.Steps, "write the journal")
	if journal < 0 {
		t.Fatalf("no journal in %q", undisturbed.Steps)
	}
	killed := 0
	for n := journal + 1; n < len(undisturbed.Steps)-1; n += 2 {
		for m := 0; ; m += 3 {
			r := origin.copy()
			r.tb = t
			start(t, order{Dir: r.dir, Mode: "commit", KillAt: n})
			if start(t, order{Dir: r.dir, Mode: "commit", KillAt: m}) != nil {
				break
			}
			killed++
			if again := start(t, order{Dir: r.dir, Mode: "commit", KillAt: -1}); again.Err != "" {
				t.Errorf("killed at %d and %d: %s", n, m, again.Err)
			}
			if got := endOf(r, "commit"); got != want {
				t.Errorf("killed at %d and %d: the end is\n%s\nand undisturbed\n%s", n, m, got, want)
			}
		}
	}
	if killed < 12 {
		t.Errorf("only %d were killed twice", killed)
	}
}

// TestKilledIsFinished: after the journal is written, the next run finishes the same commit, so
// that nothing must be signed again.
func TestKilledIsFinished(t *testing.T) {
	t.Parallel()
	origin := newRepository(t, waiting)
	alone := origin.copy()
	undisturbed := start(t, order{Dir: alone.dir, Mode: "commit", KillAt: -1})
	want := endOf(alone, "commit")
	journal := slices.Index(undisturbed.Steps, "write the journal")
	for n := journal + 1; n < len(undisturbed.Steps)-1; n++ {
		r := origin.copy()
		r.tb = t
		start(t, order{Dir: r.dir, Mode: "commit", KillAt: n})
		again := start(t, order{Dir: r.dir, Mode: "nothing", KillAt: -1})
		if again.Recovered != "finished the commit "+undisturbed.Commit+" of an interrupted run" {
			t.Errorf("killed before %q: %+v", undisturbed.Steps[n], again)
		}
		if got := endOf(r, "commit"); got != want {
			t.Errorf("killed before %q: the end is\n%s\nand undisturbed\n%s", undisturbed.Steps[n], got, want)
		}
	}
}
