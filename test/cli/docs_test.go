package cli_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/polex-dev/polex/internal/adopt"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/must"
)

// TestDocsScripts: a script runs each command of these pages. A test of the rules looks for the messages
// of docs/troubleshooting.md.
func TestDocsScripts(t *testing.T) {
	for _, tc := range []struct {
		page, script, line string
		fewest             int
	}{
		{"docs/how-to/adopt.md", "testdata/adopt-docs.txtar", "\nshell '%s'\n", 10},
		{"docs/how-to/promote.md", "testdata/promote-docs.txtar", "\nexits 0 %s\n", 5},
	} {
		script, commands := string(must.Get(os.ReadFile(tc.script))(t)), 0
		for _, block := range blocks(page(t, tc.page), "sh") {
			for line := range strings.Lines(block) {
				command, _, _ := strings.Cut(line, " #")
				commands++
				if !strings.Contains(script, fmt.Sprintf(tc.line, strings.TrimSpace(command))) {
					t.Errorf("%s: no script runs %q", tc.page, command)
				}
			}
		}
		if commands < tc.fewest {
			t.Errorf("%s shows only %d commands", tc.page, commands)
		}
	}
}

// TestAdoptReasons: docs/how-to/adopt.md explains exactly the existing reasons.
func TestAdoptReasons(t *testing.T) {
	raw := page(t, "docs/how-to/adopt.md")
	known := map[string]bool{shape.ReasonBadLifetime: true}
	for _, r := range []string{adopt.ReasonNoNamespace, adopt.ReasonNotDeployed, adopt.ReasonSeveral, adopt.ReasonNotRendered, adopt.ReasonTemplate, adopt.ReasonExpired, adopt.ReasonExists, adopt.ReasonUnreadable} {
		known[r] = true
		if !strings.Contains(raw, "\n| `"+r+"` | ") {
			t.Errorf("docs/how-to/adopt.md does not explain %s", r)
		}
	}
	table, _, _ := strings.Cut(raw, "## Choose the expiry")
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| ").FindAllStringSubmatch(table, -1) {
		if !known[row[1]] {
			t.Errorf("there is no reason %s", row[1])
		}
	}
}

// TestAuditFirst: the patch of docs/how-to/install-guard.md for audits, which docs/how-to/adopt.md names, makes the
// API server ask about deletions alone, and changes nothing else.
func TestAuditFirst(t *testing.T) {
	raw := must.Get(os.ReadFile("../../docs/how-to/install-guard.md"))(t)
	block := regexp.MustCompile("(?s)# Audit: [^\n]*\n(.*?) *```").FindSubmatch(raw)
	if block == nil {
		t.Fatal("there is no patch")
	}
	memory := filesys.MakeFsInMemory()
	root := os.DirFS("../../policies/guard")
	must.Do(t, fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		return memory.WriteFile(filepath.Join("/guard", name), content)
	}))
	build := func(patches string) string {
		must.Do(t, memory.WriteFile("/own/kustomization.yaml", []byte("resources: [../guard/overlays/cert-manager]\n"+patches)))
		objects := must.Get(krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(memory, "/own"))(t)
		return string(must.Get(objects.AsYaml())(t))
	}
	audits := build("patches:\n" + string(block[1]))
	added := "  matchConditions:\n  - expression: \"false\"\n    name: audit\n"
	if strings.Count(audits, added) != 1 || strings.Replace(audits, added, "", 1) != build("") {
		t.Errorf("it builds\n%s", audits)
	}
}

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
