package cli_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/polex-dev/polex/test/must"
)

// ranBy lists the pages whose commands a Go test compares with a script or runs itself.
var ranBy = map[string]func(*testing.T){
	"docs/how-to/adopt.md":             TestDocsScripts,
	"docs/how-to/promote.md":           TestDocsScripts,
	"README.md: git clone":             TestQuickStart,
	"README.md: polex validate":        TestQuickStart,
	"examples/github/README.md: cp -a": TestTemplateWithoutGitHub,
}

// documented PAGE [TEXT] runs the one block of shell of a page that contains TEXT.
// line PAGE TEXT runs the one line of a block.
func documented(t *testing.T, separator string) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if len(args) != 1 && len(args) != 2 {
			ts.Fatalf("usage: documented PAGE [TEXT], or line PAGE TEXT")
		}
		part := strings.Join(args[1:], "")
		var found []string
		for _, block := range blocks(page(t, args[0]), "sh") {
			for _, text := range strings.Split(block, separator) {
				if text != "" && strings.Contains(text, part) {
					found = append(found, text)
				}
			}
		}
		if len(found) != 1 {
			ts.Fatalf("%s has %d texts with %q", args[0], len(found), part)
		}
		if err := ts.Exec("sh", "-e", "-c", found[0]); (err != nil) != neg {
			ts.Fatalf("%s\n%v", found[0], err)
		}
	}
}

// TestCommands: a test runs each block of shell of each page, or a comment before the block
// gives the reason:
//
//	<!-- not run: it needs a cluster -->
func TestCommands(t *testing.T) {
	ran, ranLines := map[string][]string{}, map[string][]string{}
	for entry := range ranBy {
		name, part, _ := strings.Cut(entry, ": ")
		ran[name] = append(ran[name], part)
	}
	scripts, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts:", err)
	}
	for _, script := range scripts {
		raw := must.Get(os.ReadFile(script))(t)
		for _, m := range regexp.MustCompile(`(?m)^(?:! )?(documented|line) (\S+)(?: '(.*)')?$`).FindAllStringSubmatch(string(raw), -1) {
			of := map[string]map[string][]string{"documented": ran, "line": ranLines}[m[1]]
			of[m[2]] = append(of[m[2]], strings.ReplaceAll(m[3], "''", "'"))
		}
	}
	block := regexp.MustCompile("(?ms)(<!-- not run: [^\n]+ -->\n+)?^( *)```sh\n(.*?)\n *```")
	found := 0
	for _, name := range markdown(t) {
		if _, all := walkthroughs[name]; all {
			continue // TestWalkthroughs runs each block without a comment
		}
		for _, m := range block.FindAllStringSubmatch(page(t, name), -1) {
			found++
			text := regexp.MustCompile("(?m)^"+m[2]).ReplaceAllString(m[3], "")
			switch missed := notRun(text, ran[name], ranLines[name]); {
			case m[1] != "" && missed == "":
				t.Errorf("%s: a test runs this block; remove the comment before it:\n%s", name, text)
			case m[1] == "" && missed != "":
				t.Errorf("%s: no test runs %q; run it in a script of testdata (documented or line), or write <!-- not run: reason --> before the block", name, missed)
			}
		}
	}
	if found < 40 {
		t.Errorf("found only %d blocks", found)
	}
}

// notRun returns the first line of a block that no test runs, or "".
func notRun(block string, ran, ranLines []string) string {
	contains := func(text string, parts []string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
	}
	if contains(block, ran) {
		return ""
	}
	for line := range strings.Lines(block) {
		if !contains(line, ranLines) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// markdown lists the pages of the repository.
func markdown(t *testing.T) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS("../.."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		case entry.IsDir() && slices.Contains([]string{".git", "bin", "dist"}, name):
			return fs.SkipDir
		case strings.HasSuffix(name, ".md"):
			names = append(names, name)
		}
		return nil
	})
	if err != nil || len(names) < 30 {
		t.Fatalf("%d pages: %v", len(names), err)
	}
	return names
}
