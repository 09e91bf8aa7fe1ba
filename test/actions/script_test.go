package actions_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/forge/githubtest"
	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/must"
	"github.com/polex-dev/polex/test/programs"
	"github.com/polex-dev/polex/test/scripttest"
)

// TestScripts runs the actions' scripts as a runner does, in new repositories.
func TestScripts(t *testing.T) {
	actions := must.Get(filepath.Abs("../../actions"))(t)
	given := append(releases(t), "BUILT="+built(t), "ACTIONS="+actions, "EXAMPLES="+filepath.Join(filepath.Dir(actions), "examples"))
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY"} {
		out := must.Get(exec.Command("go", "env", name).Output())(t)
		given = append(given, name+"="+strings.TrimSpace(string(out)))
	}
	s := must.Get(sandbox.Start(t.Context(), sandbox.Options{Dir: t.TempDir(), RekorVersions: []int{1}}))(t)
	t.Cleanup(func() { _ = s.Close() }) // the folder and its content are removed
	given = append(given, "CONFIG="+s.ConfigPath, "ROOT="+s.TrustedRootPath, "TOKEN_URL="+s.TokenRequestURL, "TOKEN_BEARER="+s.TokenRequestToken)
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, given...)
			env.Setenv("PATH", os.Getenv("PATH"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			env.Values[scripttest.ForgeKey{}] = new(*githubtest.Server)
			env.Setenv("POLEX_SOURCE", "source") // this commit can be of a release
			env.Setenv("RUNNER_TEMP", env.Getenv("TMPDIR"))
			env.Setenv("GITHUB_STEP_SUMMARY", filepath.Join(env.WorkDir, "summary.md"))
			env.Setenv("GITHUB_OUTPUT", filepath.Join(env.WorkDir, "output"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": scripttest.Exits, "revision": scripttest.Takes("revision variable ref", revision), "outputs": outputs, "gitlab": scripttest.Takes("gitlab status job", gitlab), "checks": checks, "token": scripttest.Takes("token file variable", token),
			"forge": scripttest.Forge, "pulls": scripttest.Pulls},
	})
}

// built returns a folder with the built commands, for scripts that do not test the build.
func built(t *testing.T) string {
	t.Helper()
	return must.Get(programs.Build("../.."))(t)
}

// revision VARIABLE REF sets a variable to the commit of a ref.
func revision(ts *testscript.TestScript, args []string) {
	ts.Check(ts.Exec("git", "rev-parse", args[1]))
	ts.Setenv(args[0], ts.ReadFile("stdout")[:40])
}

// outputs NAME=VALUE... checks that exactly these outputs were set. It parses them as a runner does: the value is
// between two delimiter lines from the script. A space in a value means a line break. It removes the outputs.
func outputs(ts *testscript.TestScript, _ bool, args []string) {
	file := ts.Getenv("GITHUB_OUTPUT")
	raw, err := os.ReadFile(file)
	ts.Check(err)
	ts.Check(os.Remove(file))
	got := map[string]string{}
	for lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n"); len(lines) > 0; {
		name, delimiter, ok := strings.Cut(lines[0], "<<")
		if !ok {
			ts.Fatalf("no output begins with %q", lines[0])
		}
		var value []string
		for lines = lines[1:]; len(lines) > 0 && lines[0] != delimiter; lines = lines[1:] {
			value = append(value, lines[0])
		}
		if len(lines) == 0 {
			ts.Fatalf("the output %s has no end", name)
		}
		lines = lines[1:]
		got[name] = strings.Join(value, " ")
	}
	for _, arg := range args {
		name, want, _ := strings.Cut(arg, "=")
		if value, set := got[name]; !set || value != want {
			ts.Fatalf("the output %s is %q, not %q", name, value, want)
		}
		delete(got, name)
	}
	for name := range got {
		ts.Fatalf("the output %s was not expected", name)
	}
}

// checks green|red SITUATION makes a repository with a change, by situation.sh, and runs the checks of
// both templates on it: the actions as GitHub runs them for a pull request, and GitLab's job check.
// They are green, or at least one of each template is red.
func checks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || args[0] != "green" && args[0] != "red" {
		ts.Fatalf("usage: checks green|red situation")
	}
	dir := ts.MkAbs(filepath.Join("situations", args[1]))
	ts.Check(ts.Exec("bash", ts.MkAbs("situation.sh"), args[1], dir))
	bash := func(folder, script string) bool {
		err := ts.Exec("bash", "-c", "cd "+filepath.Join(dir, folder)+" && "+script)
		return err == nil
	}
	const event = "export GITHUB_EVENT_NAME=pull_request GITHUB_SHA=$(git rev-parse HEAD) INPUT_REF=HEAD INPUT_CONFIG=.polex.yaml; "
	validate, verify := bash("github", event+"INPUT_PATHS= $ACTIONS/validate/validate.sh"), bash("github", event+"INPUT_ANY_TIME=true $ACTIONS/verify/verify.sh")
	if (validate && verify) != (args[0] == "green") {
		ts.Fatalf("on GitHub, validate passes: %v, and verify passes: %v", validate, verify)
	}
	if check := bash("gitlab", "set -e; "+jobScript(ts, "check")); check != (args[0] == "green") {
		ts.Fatalf("on GitLab, check passes: %v", check)
	}
}

// gitlab STATUS JOB runs the script of a job in examples/gitlab in a shell, as a runner does,
// without installing anything first.
func gitlab(ts *testscript.TestScript, args []string) {
	scripttest.Exits(ts, false, []string{args[0], "sh", "-e", "-c", jobScript(ts, args[1])})
}

// jobScript returns the script of a job in examples/gitlab.
func jobScript(ts *testscript.TestScript, job string) string {
	raw, err := os.ReadFile(ts.Getenv("EXAMPLES") + "/gitlab/.gitlab-ci.yml")
	ts.Check(err)
	var jobs map[string]struct{ Script []string }
	file := map[string]any{}
	ts.Check(yaml.Unmarshal(raw, &file))
	delete(file, "stages") // the other keys are jobs
	rest, err := yaml.Marshal(file)
	ts.Check(err)
	ts.Check(yaml.Unmarshal(rest, &jobs))
	script := jobs[job].Script
	if len(script) == 0 {
		ts.Fatalf("there is no job %s with a script", job)
	}
	return strings.Join(script, "\n")
}

// token FILE VARIABLE writes a token of the trusted identity to the file that a GitLab job reads. A person can keep it.
func token(ts *testscript.TestScript, args []string) {
	jwt, err := sandbox.RequestToken(context.Background(), filepath.Dir(ts.Getenv("CONFIG")), sandbox.Identity{}, "sigstore")
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(jwt), 0o600))
	ts.Setenv(args[1], jwt)
}
