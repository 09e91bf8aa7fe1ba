package cli_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/test/must"
)

// sigstoreVariables returns the variables with the addresses of a Sigstore. Normally that is a
// sandbox that runs during the test. If POLEX_TEST_SIGSTORE names a file, it is the Sigstore that
// the file describes, one variable a line: this compares the sandbox with a real one. Tokens are
// always from a sandbox.
func sigstoreVariables(t *testing.T) []string {
	t.Helper()
	if named := os.Getenv("POLEX_TEST_SIGSTORE"); named != "" {
		raw := must.Get(os.ReadFile(named))(t)
		return strings.Split(strings.TrimSpace(string(raw)), "\n")
	}
	people := must.Get(sandboxtest.StartPeople())(t)
	t.Cleanup(func() { _ = people.Close() })
	box := must.Get(sandbox.Start(context.Background(), sandbox.Options{Dir: t.TempDir(), People: people.URL}))(t)
	t.Cleanup(func() { _ = box.Close() })
	return []string{
		"POLEX_SANDBOX=" + box.Dir,
		"CONFIG=" + box.ConfigPath,
		"ROOT=" + box.TrustedRootPath,
		"FULCIO=" + box.FulcioURL,
		"REKOR=" + box.RekorURL,
		"CONFIG_V2=" + box.ConfigV2Path,
		"REKOR_V2=" + box.RekorV2URL,
		"TIMESTAMP=" + box.TimestampURL,
		"ISSUER=" + box.IssuerURL,
		"PERSON_ISSUER=" + people.URL,
		"TOKEN_REQUEST_URL=" + box.TokenRequestURL,
		"TOKEN_REQUEST_TOKEN=" + box.TokenRequestToken,
	}
}

// actions sets the variables of GitHub Actions for the sandbox's identity; actions off removes
// them.
func actions(ts *testscript.TestScript, _ bool, args []string) {
	url, bearer := ts.Getenv("TOKEN_REQUEST_URL"), ts.Getenv("TOKEN_REQUEST_TOKEN")
	if len(args) == 1 && args[0] == "off" {
		url, bearer = "", ""
	}
	ts.Setenv("ACTIONS_ID_TOKEN_REQUEST_URL", url)
	ts.Setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", bearer)
}

// token FILE WORKFLOW [LIFETIME] writes a token for a workflow's identity.
func token(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: token file workflow [lifetime]")
	}
	id := sandbox.Identity{WorkflowFile: args[1]}
	if len(args) > 2 {
		lifetime, err := time.ParseDuration(args[2])
		ts.Check(err)
		id.TokenLifetime = lifetime
	}
	jwt, err := sandbox.RequestToken(context.Background(), ts.Getenv("POLEX_SANDBOX"), id, "sigstore")
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(jwt), 0o600))
}
