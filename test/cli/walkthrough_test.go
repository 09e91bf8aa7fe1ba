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
	"github.com/sigstore/cosign/v2/pkg/cosign"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// prepared is the repository that the guides begin with: an exception, and the sandbox as Sigstore.
const prepared = `
git init --quiet --initial-branch=main .
git config user.name Team
git config user.email team@example.com
cp "$POLEX_SANDBOX/trusted_root.json" .
mkdir empty; (cd empty; polex-sandbox config) > config
request() {
	printf '%s\n' 'apiVersion: kyverno.io/v2' 'kind: PolicyException' \
		"metadata: {name: $1, namespace: exceptions, annotations: {polex.dev/expires-in: 30d, polex.dev/reason: reads host metrics}}" \
		"spec: {exceptions: [{policyName: disallow-host-path, ruleNames: [host-path]}], match: {any: [{resources: {kinds: [DaemonSet], namespaces: [monitoring], names: [$1]}}]}}"
}
signed() { # by the flags
	mkdir -p unsigned
	request "$1" > "unsigned/$1.yaml"
	git add --all
	git commit --quiet --message "Request $1"
	shift
	polex-sign promote --commit "$@"
}
REKOR=$(sed -n 's/^  rekorURL: *//p' config | tr -d '"')
COSIGN_PASSWORD=secret
export REKOR COSIGN_PASSWORD
`

// A part is a page from a heading on, until the heading of the next part, and the preparations for its
// commands. The first part has no heading.
type part struct{ heading, preparations string }

// walkthroughs are the pages of which every command runs.
var walkthroughs = map[string][]part{
	"docs/tutorial.md":          {{}, {"## The sandbox", prepared + `cp config .polex.yaml; request web > exception.yaml`}},
	"docs/how-to/github.md":     {{}},
	"examples/gitlab/README.md": {{}},
	"docs/how-to/private-sigstore.md": {
		{preparations: prepared + `sed 's|trustedRoot:.*|trustedRoot: trusted_root.json|' config > .polex.yaml
request web > exception.yaml; cp trusted_root.json private.json; cp "$PUBLIC_ROOT" public.json`},
		{"## Air-gapped networks", prepared + `request web > exception.yaml
signed db --key release.key --rekor-url "$REKOR" --config trust.yaml`},
		{"## Rotate keys", prepared + `{
	sed '/^trust:/,$d' config; echo trust:; sed -n '/^authorities:/,$s/^/  /p' trust.yaml; echo '  trustedRoot: trusted_root.json'
} > .polex.yaml
signed web --key release-2026.key
mkdir unsigned; request db > unsigned/db.yaml; git add --all; git commit --quiet --message 'Request db'`},
	},
	"docs/how-to/migrate.md": {{preparations: prepared + `cp config .polex.yaml; cp config trust.yaml; signed web`}},
}

var (
	shownCommands = regexp.MustCompile("(?ms)^( *)(<!-- not run: [^\n]*\n *)?```sh\n(.*?)^ *```\n(?:\n *```text\n(.*?)^ *```\n)?")
	shownFile     = regexp.MustCompile(`^# ([a-z.]+\.yaml)\n`)
)

// TestWalkthroughs runs the commands of each part of a page in one shell, from the first to the last, and
// looks for the output that the page shows. The files that a part shows, with a name in their first
// line, are there from the beginning.
func TestWalkthroughs(t *testing.T) {
	publicRoot := must.Get(filepath.Abs("../../pkg/trust/publicgood/trusted_root.json"))(t)
	for name, parts := range walkthroughs {
		rest, checked := page(t, name), 0
		for i, p := range parts {
			text := rest
			if i+1 < len(parts) {
				found := false
				if text, rest, found = strings.Cut(rest, "\n"+parts[i+1].heading+"\n"); !found {
					t.Fatalf("%s has no heading %q", name, parts[i+1].heading)
				}
			}
			for _, block := range shownCommands.FindAllStringSubmatch(text, -1) {
				if block[2] == "" {
					checked++
				}
			}
			for _, block := range blocks(text, "yaml") {
				if shownFile.MatchString(block) {
					checked++
				}
			}
			t.Run(name+p.heading, func(t *testing.T) {
				t.Parallel()
				walk(t, name, text, p.preparations, publicRoot)
			})
		}
		expect.That(t, checked != 0, "%s: there is nothing to check", name)
	}
}

// walk runs the commands of one part of a page.
func walk(t *testing.T, name, text, preparations, publicRoot string) {
	dir := t.TempDir()
	writeShown(t, name, text, dir)
	const end = "(end of the block)\n"
	var commands, outputs []string
	script := preparations + "\n"
	for _, block := range shownCommands.FindAllStringSubmatch(text, -1) {
		indent := regexp.MustCompile("(?m)^" + block[1])
		if block[2] == "" {
			commands = append(commands, indent.ReplaceAllString(block[3], ""))
			outputs = append(outputs, indent.ReplaceAllString(block[4], ""))
			script += "echo '" + strings.TrimSpace(end) + "'\n" + commands[len(commands)-1]
		}
	}
	if len(commands) == 0 {
		return
	}
	for _, key := range []string{"release", "release-2026", "release-2027"} {
		keys := must.Get(cosign.GenerateKeyPair(func(bool) ([]byte, error) { return []byte("secret"), nil }))(t)
		writeFile(t, filepath.Join(dir, key+".key"), string(keys.PrivateBytes))
		writeFile(t, filepath.Join(dir, key+".pub"), string(keys.PublicBytes))
	}
	run := exec.Command(filepath.Join(binaries, "polex-sandbox"), "run", "--", "sh", "-ec", script)
	run.Dir = dir
	run.Env = append(os.Environ(), "PATH="+binaries+":"+os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=/dev/null", "PUBLIC_ROOT="+publicRoot)
	out, err := run.CombinedOutput()
	printed := strings.Split(string(out), end)
	must.That(t, err == nil && len(printed) == 1+len(commands), "%v\n%s", err, out)
	for i, want := range outputs {
		expect.That(t, regexp.MustCompile(pattern(want)).MatchString(printed[1+i]),
			"%s\nprints\n%s\nand not\n%s", commands[i], printed[1+i], want)
	}
}

// writeShown writes the files that a part of a page shows into a folder, and loads each configuration.
func writeShown(t *testing.T, name, text, dir string) {
	t.Helper()
	for _, block := range blocks(text, "yaml") {
		named := shownFile.FindStringSubmatch(block)
		if named == nil {
			continue
		}
		writeFile(t, filepath.Join(dir, named[1]), block)
		doc := must.Get(exception.Parse([]byte(block), name))(t)
		if doc.Text("kind") != "Config" {
			continue
		}
		readShape(t, doc)
		if _, there := doc.Lookup("trust"); !there {
			continue
		}
		policy := must.Get(trust.Read(doc, dir))(t)
		policy.TrustedRoot = "" // the reader's own
		_, err := trust.Load(policy)
		expect.That(t, err == nil, "%s: %v", block, err)
	}
}

// pattern matches the lines of an excerpt in their order. An ellipsis is any text, and other lines
// may lie between the lines of the excerpt.
func pattern(excerpt string) string {
	var lines []string
	for line := range strings.Lines(excerpt) {
		line = regexp.QuoteMeta(strings.TrimSuffix(line, "\n"))
		lines = append(lines, "^"+strings.ReplaceAll(line, "…", ".*")+"$")
	}
	return "(?m)" + strings.Join(lines, `\n(?s:.*\n)?`)
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(content), 0o600))
}

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
