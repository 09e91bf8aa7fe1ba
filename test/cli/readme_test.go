package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
)

func readme(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestReadmeConfigurations reads each block of YAML in the README as what it is.
func TestReadmeConfigurations(t *testing.T) {
	met := map[string]bool{}
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(readme(t), -1) {
		doc, err := exception.Parse([]byte(block[1]), "README.md")
		if err != nil {
			t.Fatal(err)
		}
		for part, read := range map[string]func(*testing.T, *exception.Document){"trust": readTrust, "shape": readShape, "repos": readHook} {
			if _, there := doc.Lookup(part); there {
				met[part] = true
				read(t, doc)
			}
		}
	}
	if len(met) != 3 {
		t.Errorf("the README shows only %v", met)
	}
}

// readShape lets the command load the configuration; 3 says that it did, and that
// there was nothing to check.
func readShape(t *testing.T, doc *exception.Document) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, doc.Source(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(binaries, "polex-validate"), "--config", path, t.TempDir()).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("%v\n%s", err, out)
	}
}

// readHook looks for the hook among those that the repository offers.
func readHook(t *testing.T, doc *exception.Document) {
	t.Helper()
	offered, err := os.ReadFile("../../.pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if id := doc.Text("repos", 0, "hooks", 0, "id"); id == "" || !strings.Contains(string(offered), "- id: "+id+"\n") {
		t.Errorf("there is no hook %q", id)
	}
}

func readTrust(t *testing.T, doc *exception.Document) {
	t.Helper()
	config, err := trust.Read(doc, ".", "trust")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trust.Load(config); err != nil {
		t.Fatal(err)
	}
}

// subcommands are those whose flags the README names.
var subcommands = map[string][][]string{"polex-sign": {{"trusted-root", "--help"}}}

// TestReadmeFlags checks that every flag the README names is one that a command
// has, and every command it names is one that is built.
func TestReadmeFlags(t *testing.T) {
	commands, err := filepath.Glob("../../cmd/polex-*")
	if err != nil || len(commands) == 0 {
		t.Fatal("no commands:", err)
	}
	text := readme(t)
	var help strings.Builder
	for _, dir := range commands {
		name := filepath.Base(dir)
		if !strings.Contains(text, "`"+name) {
			t.Errorf("the README does not mention %s", name)
		}
		for _, args := range append([][]string{{"--help"}}, subcommands[name]...) {
			out, err := exec.Command(filepath.Join(binaries, name), args...).CombinedOutput()
			if err != nil {
				t.Fatalf("%s %s: %v", name, args, err)
			}
			help.Write(out)
		}
	}
	for _, flag := range regexp.MustCompile(`[ \x60](--[a-z][a-z-]+)`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(help.String(), flag[1]+" ") && !strings.Contains(help.String(), flag[1]+"\n") {
			t.Errorf("the README names %s, and no command has it", flag[1])
		}
	}
}
