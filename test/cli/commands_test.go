package cli_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/polex-dev/polex/test/expect"
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

// TestCommands: a test runs each block of shell of each page, or a comment before the block gives the reason:
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
	expect.That(t, found >= 40, "found only %d blocks", found)
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
	must.That(t, err == nil && len(names) >= 30, "%d pages: %v", len(names), err)
	return names
}

// parts lists the commands of polex with their names as programs of their own.
var parts = map[string][]string{
	"request":  {"polex-request"},
	"validate": {"polex-validate"},
	"sign":     {"polex-sign"},
	"promote":  {"polex-sign", "promote"},
	"verify":   {"polex-verify"},
	"prune":    {"polex-prune"},
	"audit":    {"polex-audit"},
	"notify":   {"polex-audit", "notify"},
	"guard":    {"polex-guard"},
	"sandbox":  {"polex-sandbox"},
}

// madeAt is the time of a report: the two runs may be in different seconds.
var madeAt = regexp.MustCompile(`("madeAt": ")[^"]*`)

// same STATUS PART ARG... runs polex PART and the program of its own. Both must end with the status
// and print the same, except for their names. stdout and stderr then hold the output of polex.
func same(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || parts[args[1]] == nil {
		ts.Fatalf("usage: same status part [arg...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	type said struct {
		Status         int
		Stdout, Stderr string
	}
	run := func(argv ...string) said {
		err := ts.Exec(argv[0], argv[1:]...)
		var ended *exec.ExitError
		if err != nil && !errors.As(err, &ended) {
			ts.Fatalf("%v", err)
		}
		s := said{Stdout: madeAt.ReplaceAllString(ts.ReadFile("stdout"), "$1"), Stderr: alone(ts.ReadFile("stderr"))}
		if ended != nil {
			s.Status = ended.ExitCode()
		}
		return s
	}
	one := run(slices.Concat(parts[args[1]], args[2:])...)
	all := run(append([]string{"polex", args[1]}, args[2:]...)...)
	if diff := cmp.Diff(one, all); diff != "" {
		ts.Fatalf("polex %s is not %s (-alone +in polex):\n%s", args[1], strings.Join(parts[args[1]], " "), diff)
	}
	if all.Status != want {
		ts.Fatalf("exit status %d, want %d", all.Status, want)
	}
}

// alone replaces the command names in a text by those of the programs. An error begins with the program's name only.
func alone(text string) string {
	for part, words := range parts {
		text = strings.ReplaceAll(text, "polex "+part+": ", words[0]+": ")
		text = strings.ReplaceAll(text, "polex "+part, strings.Join(words, " "))
	}
	return text
}
