package sandbox

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/scripttest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"polex-sandbox": func() { cli.Main(New) }, "claims": printClaims})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": scripttest.Exits},
	})
}

// printClaims reads a token from stdin and prints one claim per line. It does not verify the token.
func printClaims() {
	token, err := io.ReadAll(os.Stdin)
	var claims map[string]any
	if parts := strings.Split(string(token), "."); err == nil && len(parts) == 3 {
		var payload []byte
		payload, err = base64.RawURLEncoding.DecodeString(parts[1])
		err = errors.Join(err, json.Unmarshal(payload, &claims))
	}
	if err != nil || claims == nil {
		fmt.Fprintln(os.Stderr, "not a token", err)
		os.Exit(1)
	}
	for name, value := range claims {
		fmt.Fprintf(os.Stdout, "%s=%v\n", name, value)
	}
}

// serve prints the lines to paste and answers until the signal. Then it leaves the folder, but not the secret.
func TestServe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's here")
	t.Setenv("POLEX_SANDBOX", dir)
	reader, writer := io.Pipe()
	var notes strings.Builder
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	status := make(chan int, 1)
	go func() {
		status <- cli.Run(ctx, New, []string{"serve", "--dir", dir}, cli.Streams{Out: writer, Err: &notes})
		writer.Close()
	}()
	var lines []string
	for scanner := bufio.NewScanner(reader); scanner.Scan(); {
		lines = append(lines, scanner.Text())
		if !strings.HasPrefix(scanner.Text(), "export POLEX_SANDBOX=") {
			continue
		}
		var token strings.Builder
		var problems strings.Builder
		if got := cli.Run(t.Context(), New, []string{"token"}, cli.Streams{Out: &token, Err: &problems}); got != 0 || strings.Count(token.String(), ".") != 2 {
			t.Errorf("token: status %d, %q, %s", got, token.String(), problems.String())
		}
		interrupt()
	}
	got := <-status
	expect.That(t, got == 0, "status %d: %s", got, notes.String())
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "export ACTIONS_ID_TOKEN_REQUEST_URL='http://127.0.0.1:") {
		t.Errorf("printed %q", lines)
	}
	expect.That(t, strings.HasSuffix(lines[len(lines)-1], `it'\''s here'`),
		"folder is not quoted: %s", lines[len(lines)-1])
	expect.That(t, strings.Contains(notes.String(), "THIS IS A SANDBOX"), "no banner: %s", notes.String())
	_, err := os.Stat(filepath.Join(dir, "control.json"))
	expect.That(t, err != nil, "the secret is still there")
	_, err = os.Stat(filepath.Join(dir, "trusted_root.json"))
	expect.NoError(t, err)
}
