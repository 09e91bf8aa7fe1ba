package cli_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/polex-dev/polex/internal/adopt"
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// pages are the pages with configuration to copy.
var pages = []string{"README.md", "docs/how-to/validate.md", "docs/how-to/promote.md", "docs/explanation/workflow.md", "docs/troubleshooting.md"}

func page(t *testing.T, name string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(filepath.Join("../..", name)))(t))
}

// blocks returns the blocks of a language in a page, without their indentation.
func blocks(page, language string) []string {
	var found []string
	for _, block := range regexp.MustCompile("(?sm)^( *)```"+language+"\n(.*?)\n *```").FindAllStringSubmatch(page, -1) {
		found = append(found, regexp.MustCompile("(?m)^"+block[1]).ReplaceAllString(block[2], "")+"\n")
	}
	return found
}

// TestConfigurations reads each YAML block of the pages with the command that it is for.
func TestConfigurations(t *testing.T) {
	met := map[string]int{}
	for _, name := range pages {
		for _, block := range blocks(page(t, name), "yaml") {
			doc := must.Get(exception.Parse([]byte(block), name))(t)
			for part, read := range map[string]func(*testing.T, *exception.Document){"trust": readTrust, "shape": readShape, "sigstore": readShape, "repos": readHook} {
				if _, there := doc.Lookup(part); there {
					met[part]++
					read(t, doc)
				}
			}
		}
	}
	want := map[string]int{"trust": 2, "shape": 2, "sigstore": 1, "repos": 1}
	expect.That(t, maps.Equal(want, met), "the pages show %v, and not %v", met, want)
}

// TestQuickStart: the quick start of the README fits into its first screen. Its targets of make are those
// of .ci/run, and its other commands run here on an exception, with the binaries of this test.
func TestQuickStart(t *testing.T) {
	before, section, _ := strings.Cut(page(t, "README.md"), "## Quick start")
	section, _, _ = strings.Cut(section, "\n## ")
	lines := strings.Count(before+section, "\n")
	expect.That(t, lines <= 50, "the quick start ends in line %d", lines)
	shown := blocks(section, "sh")
	must.That(t, len(shown) == 2, "there are %d blocks, and not the commands of make and those of polex", len(shown))
	build, commands := strings.Split(strings.TrimSpace(shown[0]), "\n"), shown[1]
	ci := page(t, ".ci/run")
	for _, line := range build[1:] {
		target, isMake := strings.CutPrefix(strings.TrimSpace(strings.Split(line, "#")[0]), "make ")
		expect.That(t, isMake && regexp.MustCompile(`(?m)^step make .*\b`+target+`\b`).MatchString(ci),
			".ci/run does not run %q", line)
	}
	must.That(t, strings.HasPrefix(build[0], "git clone ") && len(build) == 3 && strings.Count(commands, "\n") <= 9,
		"not a clone, two targets and under ten lines:\n%s\n%s", shown[0], commands)
	dir := t.TempDir()
	const exempts = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: node-exporter
  namespace: monitoring
  annotations: {polex.dev/expires-in: 30d, polex.dev/reason: reads host metrics, polex.dev/ticket: SEC-1, polex.dev/owner: team-a@example.com}
spec:
  exceptions: [{policyName: disallow-host-path, ruleNames: [host-path]}]
  match: {any: [{resources: {kinds: [DaemonSet], namespaces: [monitoring], names: [node-exporter]}}]}
`
	must.Do(t, os.WriteFile(filepath.Join(dir, "my-exception.yaml"), []byte(exempts), 0o600))
	run := exec.Command("sh", "-c", commands)
	run.Dir, run.Env = dir, append(os.Environ(), "PATH="+binaries+":"+os.Getenv("PATH"))
	out, err := run.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "signed.yaml:1:1: signed by https://") || !strings.Contains(string(out), "[altered]") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestExitCodes: the README lists exactly the exit codes of the commands.
func TestExitCodes(t *testing.T) {
	_, section, _ := strings.Cut(page(t, "README.md"), "## Exit codes")
	section, _, _ = strings.Cut(section, "\n## ")
	var got []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([0-9, ]+) \|`).FindAllStringSubmatch(section, -1) {
		got = append(got, row[1])
	}
	want := fmt.Sprintf("%d %d %d %d %d, %d", cli.Passed, cli.Refused, cli.Usage, cli.Undecided, 128+int(syscall.SIGINT), 128+int(syscall.SIGTERM))
	expect.Is(t, "the README lists", want, strings.Join(got, " "))
}

// readShape lets the command load the configuration. Exit code 3 means that it did, and that
// there was nothing to check.
func readShape(t *testing.T, doc *exception.Document) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	must.Do(t, os.WriteFile(path, doc.Source(), 0o600))
	out, err := exec.Command(filepath.Join(binaries, "polex-validate"), "--config", path, t.TempDir()).CombinedOutput()
	var exit *exec.ExitError
	expect.That(t, errors.As(err, &exit) && exit.ExitCode() == 3, "%v\n%s", err, out)
}

// readHook looks for the hook among the repository's hooks.
func readHook(t *testing.T, doc *exception.Document) {
	t.Helper()
	offered := must.Get(os.ReadFile("../../.pre-commit-hooks.yaml"))(t)
	id := doc.Text("repos", 0, "hooks", 0, "id")
	expect.That(t, id != "" && strings.Contains(string(offered), "- id: "+id+"\n"), "there is no hook %q", id)
}

func readTrust(t *testing.T, doc *exception.Document) {
	t.Helper()
	config := must.Get(trust.Read(doc, "."))(t)
	_, err := trust.Load(config)
	must.That(t, err == nil || (config.Authorities == nil && errors.Is(err, trust.ErrNoAuthority)), "%v", err)
	must.Get(policyfile.Check(config))(t)
}

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
				expect.That(t, strings.Contains(script, fmt.Sprintf(tc.line, strings.TrimSpace(command))),
					"%s: no script runs %q", tc.page, command)
			}
		}
		expect.That(t, commands >= tc.fewest, "%s shows only %d commands", tc.page, commands)
	}
}

// TestAdoptReasons: docs/how-to/adopt.md explains exactly the existing reasons.
func TestAdoptReasons(t *testing.T) {
	raw := page(t, "docs/how-to/adopt.md")
	known := map[string]bool{shape.ReasonBadLifetime: true}
	for _, r := range []string{adopt.ReasonNoNamespace, adopt.ReasonNotDeployed, adopt.ReasonSeveral, adopt.ReasonNotRendered, adopt.ReasonTemplate, adopt.ReasonExpired, adopt.ReasonExists, adopt.ReasonUnreadable} {
		known[r] = true
		expect.That(t, strings.Contains(raw, "\n| `"+r+"` | "), "docs/how-to/adopt.md does not explain %s", r)
	}
	table, _, _ := strings.Cut(raw, "## Choose the expiry")
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| ").FindAllStringSubmatch(table, -1) {
		expect.That(t, known[row[1]], "there is no reason %s", row[1])
	}
}

// TestAuditFirst: the patch of docs/how-to/install-guard.md for audits, which docs/how-to/adopt.md names, makes the
// API server ask about deletions alone, and changes nothing else.
func TestAuditFirst(t *testing.T) {
	raw := must.Get(os.ReadFile("../../docs/how-to/install-guard.md"))(t)
	block := regexp.MustCompile("(?s)# Audit: [^\n]*\n(.*?) *```").FindSubmatch(raw)
	must.That(t, block != nil, "there is no patch")
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
	expect.That(t, strings.Count(audits, added) == 1 && strings.Replace(audits, added, "", 1) == build(""),
		"it builds\n%s", audits)
}

// TestTemplateWithoutGitHub runs the lines with which the README of examples/github tries the template
// in the sandbox, in a copy of the folder. The example in it is signed without a warning.
func TestTemplateWithoutGitHub(t *testing.T) {
	_, section, _ := strings.Cut(page(t, "examples/github/README.md"), "## Try it without GitHub")
	commands := blocks(section, "sh")[0]
	n := strings.Count(strings.TrimSpace(commands), "\n") + 1
	must.That(t, n == 5, "there are %d lines, not five:\n%s", n, commands)
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
