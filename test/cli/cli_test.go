package cli_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/scripttest"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

// binaries is the folder that TestMain builds the commands into.
var binaries string

func TestMain(m *testing.M) {
	if url := os.Getenv("POLEX_TEST_BROWSE"); url != "" {
		os.Exit(browse(url))
	}
	flag.Parse()
	dir, err := os.MkdirTemp("", "polex-cli")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binaries = dir
	status := 1
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "../../cmd/...")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build the commands:", err)
	} else {
		status = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

func TestScripts(t *testing.T) {
	box, err := sandbox.Start(context.Background(), sandbox.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", binaries+string(filepath.ListSeparator)+os.Getenv("PATH"))
			env.Setenv("POLEX_SANDBOX", box.Dir)
			env.Setenv("CONFIG", box.ConfigPath)
			env.Setenv("ROOT", box.TrustedRootPath)
			env.Setenv("FULCIO", box.FulcioURL)
			env.Setenv("REKOR", box.RekorURL)
			env.Setenv("CONFIG_V2", box.ConfigV2Path)
			env.Setenv("REKOR_V2", box.RekorV2URL)
			env.Setenv("TIMESTAMP", box.TimestampURL)
			env.Setenv("ISSUER", box.IssuerURL)
			env.Setenv("PERSON_ISSUER", box.PersonIssuerURL)
			env.Setenv("IN_AN_HOUR", time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
			env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			env.Setenv("HOME", env.WorkDir)
			env.Values[tufKey] = &tufServer{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   scripttest.Exits,
			"token":   token(box),
			"filler":  filler,
			"binary":  binary,
			"browser": browser,
			"tuf":     tuf,
			"actions": actions(box),
		},
	})
}

// actions lets the commands find the sandbox's identity as GitHub Actions
// offers it; actions off takes that away again.
func actions(box *sandbox.Sandbox) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		if len(args) == 1 && args[0] == "off" {
			ts.Setenv("ACTIONS_ID_TOKEN_REQUEST_URL", "")
			ts.Setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "")
			return
		}
		ts.Setenv("ACTIONS_ID_TOKEN_REQUEST_URL", box.TokenRequestURL)
		ts.Setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", box.TokenRequestToken)
	}
}

// token FILE WORKFLOW [LIFETIME] writes a token for a workflow's identity.
func token(box *sandbox.Sandbox) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		if len(args) < 2 {
			ts.Fatalf("usage: token file workflow [lifetime]")
		}
		id := sandbox.Identity{WorkflowFile: args[1]}
		if len(args) > 2 {
			lifetime, err := time.ParseDuration(args[2])
			ts.Check(err)
			id.TokenLifetime = lifetime
		}
		jwt, err := box.Token(id, "sigstore")
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(jwt), 0o600))
	}
}

// browser puts an xdg-open on the path that visits the page it is given, as a
// browser with a person before it would, and does not wait for it.
func browser(ts *testscript.TestScript, _ bool, _ []string) {
	self, err := os.Executable()
	ts.Check(err)
	dir := ts.MkAbs("browser")
	ts.Check(os.MkdirAll(dir, 0o755))
	script := fmt.Sprintf("#!/bin/sh\nPOLEX_TEST_BROWSE=\"$1\" %q >/dev/null 2>&1 </dev/null &\n", self)
	ts.Check(os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o755))
	ts.Setenv("PATH", dir+string(filepath.ListSeparator)+ts.Getenv("PATH"))
}

// browse visits a page and returns an exit status.
func browse(url string) int {
	client := http.Client{Timeout: time.Minute}
	resp, err := client.Get(url)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		fmt.Fprintln(os.Stderr, resp.Status)
		return 1
	}
	return 0
}

// filler FILE MEBIBYTES writes a large YAML file.
func filler(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: filler file mebibytes")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	line := append(bytes.Repeat([]byte("x"), 1023), '\n')
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = f.WriteString("key: |\n")
	ts.Check(err)
	chunk := bytes.Repeat(append([]byte("  "), line...), 1024)
	for range n {
		_, err = f.Write(chunk)
		ts.Check(err)
	}
	ts.Check(f.Close())
}

// binary FILE writes bytes that are no text.
func binary(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: binary file")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte{0x7f, 'E', 'L', 'F', 0, 0, 0xff, 0xfe}, 0o600))
}
