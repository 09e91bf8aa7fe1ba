package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

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
		if !regexp.MustCompile(pattern(want)).MatchString(printed[1+i]) {
			t.Errorf("%s\nprints\n%s\nand not\n%s", commands[i], printed[1+i], want)
		}
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
