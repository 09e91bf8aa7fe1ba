package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/must"
)

// TestTemplateWithoutGitHub runs the lines with which the README of examples/github tries the template
// in the sandbox, in a copy of the folder. The example in it is signed without a warning.
func TestTemplateWithoutGitHub(t *testing.T) {
	_, section, _ := strings.Cut(page(t, "examples/github/README.md"), "## Try it without GitHub")
	commands := blocks(section, "sh")[0]
	if n := strings.Count(strings.TrimSpace(commands), "\n") + 1; n != 5 {
		t.Fatalf("there are %d lines, not five:\n%s", n, commands)
	}
	clone := filepath.Join(t.TempDir(), "polex")
	must.Do(t, os.CopyFS(filepath.Join(clone, "examples"), os.DirFS("../../examples")))
	run := exec.Command("sh", "-euc", commands)
	run.Dir, run.Env = clone, append(os.Environ(), "PATH="+binaries+":"+os.Getenv("PATH"), "GIT_AUTHOR_NAME=Team", "GIT_AUTHOR_EMAIL=team@example.com",
		"GIT_COMMITTER_NAME=Team", "GIT_COMMITTER_EMAIL=team@example.com")
	out, err := run.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "signed/mongo-root.yaml:1:1: signed by https://") || strings.Contains(string(out), "warning") {
		t.Errorf("%v\n%s", err, out)
	}
}
