package sandbox

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/command/cli"
)

// serve prints the lines to paste and answers until the signal. Then it leaves the folder, but not
// the secret.
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
	if got := <-status; got != 0 {
		t.Errorf("status %d: %s", got, notes.String())
	}
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "export ACTIONS_ID_TOKEN_REQUEST_URL='http://127.0.0.1:") {
		t.Errorf("printed %q", lines)
	}
	if want := `it'\''s here'`; !strings.HasSuffix(lines[len(lines)-1], want) {
		t.Errorf("folder is not quoted: %s", lines[len(lines)-1])
	}
	if !strings.Contains(notes.String(), "THIS IS A SANDBOX") {
		t.Errorf("no banner: %s", notes.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "control.json")); err == nil {
		t.Error("the secret is still there")
	}
	if _, err := os.Stat(filepath.Join(dir, "trusted_root.json")); err != nil {
		t.Error(err)
	}
}
