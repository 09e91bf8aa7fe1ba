package actions_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/scripttest"
)

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
func gitlab(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: gitlab status job")
	}
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

// token FILE VARIABLE writes a token of the trusted identity to the file that a GitLab job reads. A
// person can keep it.
func token(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: token file variable")
	}
	jwt, err := sandbox.RequestToken(context.Background(), filepath.Dir(ts.Getenv("CONFIG")), sandbox.Identity{}, "sigstore")
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(jwt), 0o600))
	ts.Setenv(args[1], jwt)
}
