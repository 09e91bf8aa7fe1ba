package cli_test

import (
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

// TestReadmeTrustPolicy loads the trust policy that the README shows.
func TestReadmeTrustPolicy(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(readme(t), -1)
	if len(blocks) != 1 {
		t.Fatalf("the README has %d YAML blocks; this test knows of 1", len(blocks))
	}
	doc, err := exception.Parse([]byte(blocks[0][1]), "README.md")
	if err != nil {
		t.Fatal(err)
	}
	config, err := trust.Read(doc, ".", "trust")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trust.Load(config); err != nil {
		t.Fatal(err)
	}
}

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
		out, err := exec.Command(filepath.Join(binaries, name), "--help").CombinedOutput()
		if err != nil {
			t.Fatalf("%s --help: %v", name, err)
		}
		help.Write(out)
	}
	for _, flag := range regexp.MustCompile(`[ \x60](--[a-z][a-z-]+)`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(help.String(), flag[1]+" ") && !strings.Contains(help.String(), flag[1]+"\n") {
			t.Errorf("the README names %s, and no command has it", flag[1])
		}
	}
}
