package cli_test

import (
	"io/fs"
	"os"
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

// TestAdoptDocs: a script runs each command of docs/how-to/adopt.md, and the page explains exactly
// the existing reasons.
func TestAdoptDocs(t *testing.T) {
	raw := must.Get(os.ReadFile("../../docs/how-to/adopt.md"))(t)
	script := must.Get(os.ReadFile("testdata/adopt-docs.txtar"))(t)
	commands := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(raw), -1) {
		for line := range strings.Lines(block[1]) {
			commands++
			if !strings.Contains(string(script), "\nshell '"+strings.TrimSpace(line)+"'\n") {
				t.Errorf("no script runs %q", line)
			}
		}
	}
	if commands < 10 {
		t.Errorf("only %d commands are shown", commands)
	}
	known := map[string]bool{shape.ReasonBadLifetime: true}
	for _, r := range []string{adopt.ReasonNoNamespace, adopt.ReasonNotDeployed, adopt.ReasonSeveral, adopt.ReasonNotRendered, adopt.ReasonTemplate, adopt.ReasonExpired, adopt.ReasonExists, adopt.ReasonUnreadable, adopt.ReasonNoPolicies} {
		known[r] = true
		if !strings.Contains(string(raw), "\n| `"+r+"` | ") {
			t.Errorf("docs/how-to/adopt.md does not explain %s", r)
		}
	}
	table, _, _ := strings.Cut(string(raw), "## Choose the expiry")
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
		text := must.Get(objects.AsYaml())(t)
		return string(text)
	}
	audits := build("patches:\n" + string(block[1]))
	added := "  matchConditions:\n  - expression: \"false\"\n    name: audit\n"
	if strings.Count(audits, added) != 1 || strings.Replace(audits, added, "", 1) != build("") {
		t.Errorf("it builds\n%s", audits)
	}
}
