package cli_test

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/polex-dev/polex/internal/forge/githubtest"
	"github.com/polex-dev/polex/test/programs"
	"github.com/polex-dev/polex/test/scripttest"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

// binaries is the folder with the commands that TestMain builds.
var binaries string

func TestMain(m *testing.M) {
	if url := os.Getenv("POLEX_TEST_BROWSE"); url != "" {
		os.Exit(browse(url))
	}
	flag.Parse()
	var err error
	if binaries, err = programs.Build("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestScripts(t *testing.T) {
	sigstore := sigstoreVariables(t)
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, sigstore...)
			env.Setenv("PATH", binaries+string(filepath.ListSeparator)+os.Getenv("PATH"))
			env.Setenv("BINARIES", binaries)
			env.Setenv("IN_AN_HOUR", time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
			env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			env.Setenv("HOME", env.WorkDir)
			env.Values[tufKey] = &tufServer{}
			env.Values[scripttest.ForgeKey{}] = new(*githubtest.Server)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      scripttest.Exits,
			"same":       same,
			"token":      token,
			"filler":     filler,
			"binary":     binary,
			"browser":    browser,
			"tuf":        tuf,
			"fault":      fault,
			"actions":    actions,
			"github":     gitHub,
			"forge":      scripttest.Forge,
			"pull":       scripttest.Pull,
			"pulls":      scripttest.Pulls,
			"people":     people,
			"keypair":    keypair,
			"reported":   follows(t, "report.schema.json"),
			"told":       follows(t, "ledger.schema.json"),
			"documented": documented(t, "\x00"),
			"line":       documented(t, "\n"),
			"shell":      shell,
		},
	})
}

// browser puts an xdg-open on the path. It visits the given page like a browser with a user, and
// does not wait for the answer.
func browser(ts *testscript.TestScript, _ bool, _ []string) {
	self, err := os.Executable()
	ts.Check(err)
	dir := ts.MkAbs("browser")
	ts.Check(os.MkdirAll(dir, 0o755))
	script := fmt.Sprintf("#!/bin/sh\nPOLEX_TEST_BROWSE=\"$1\" %q >/dev/null 2>&1 </dev/null &\n", self)
	ts.Check(os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o755))
	ts.Setenv("PATH", dir+string(filepath.ListSeparator)+ts.Getenv("PATH"))
}

// browse visits a page and returns an exit code.
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

// shell LINE runs a line in a shell.
func shell(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: shell 'line'")
	}
	ts.Check(ts.Exec("sh", "-ec", args[0]))
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

// binary FILE writes bytes that are not text.
func binary(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: binary file")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte{0x7f, 'E', 'L', 'F', 0, 0, 0xff, 0xfe}, 0o600))
}
