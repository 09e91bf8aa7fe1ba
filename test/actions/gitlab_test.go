package actions_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/scripttest"
)

// gitlab STATUS JOB runs the script of a job in examples/gitlab in a shell, as a runner does,
// without installing anything first.
func gitlab(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: gitlab status job")
	}
	raw, err := os.ReadFile(ts.Getenv("EXAMPLES") + "/gitlab/.gitlab-ci.yml")
	ts.Check(err)
	var jobs map[string]struct{ Script []string }
	file := map[string]any{}
	ts.Check(yaml.Unmarshal(raw, &file))
	delete(file, "stages") // the other keys are jobs
	rest, err := yaml.Marshal(file)
	ts.Check(err)
	ts.Check(yaml.Unmarshal(rest, &jobs))
	script := jobs[args[1]].Script
	if len(script) == 0 {
		ts.Fatalf("there is no job %s with a script", args[1])
	}
	scripttest.Exits(ts, false, []string{args[0], "sh", "-e", "-c", strings.Join(script, "\n")})
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
