package actions_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/polex-dev/polex/internal/scripttest"
)

// TestScripts runs the actions' scripts as a runner does, in repositories made
// for it.
func TestScripts(t *testing.T) {
	actions, err := filepath.Abs("../../actions")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY"} {
				out, err := exec.Command("go", "env", name).Output()
				if err != nil {
					return err
				}
				env.Setenv(name, string(out[:max(0, len(out)-1)]))
			}
			env.Setenv("ACTIONS", actions)
			env.Setenv("PATH", os.Getenv("PATH"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			env.Setenv("RUNNER_TEMP", env.Getenv("TMPDIR"))
			env.Setenv("GITHUB_STEP_SUMMARY", filepath.Join(env.WorkDir, "summary.md"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": scripttest.Exits, "revision": revision},
	})
}

// revision VARIABLE REF sets a variable to the commit that a ref names.
func revision(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: revision variable ref")
	}
	ts.Check(ts.Exec("git", "rev-parse", args[1]))
	ts.Setenv(args[0], ts.ReadFile("stdout")[:40])
}
