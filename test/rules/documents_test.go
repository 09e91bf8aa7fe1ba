package rules_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestCore: the code that verifies has fewer lines than the README states.
func TestCore(t *testing.T) {
	const stated = 10_000
	expect.That(t, strings.Contains(string(read(t, "README.md")), "fewer than 10,000 lines of Go"),
		"README.md does not state the number of lines")
	lines := 0
	for _, name := range files(t) {
		parts := strings.Split(name, "/")
		if len(parts) < 3 || parts[0] != "pkg" || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		switch parts[1] {
		case "exception", "lifetime", "seal", "trust", "verify":
			lines += bytes.Count(read(t, name), []byte("\n"))
		}
	}
	expect.That(t, lines < stated && lines >= stated/2, "the code that verifies has %d lines", lines)
}

// tested are the modules of the programs in the table of tested versions.
var tested = map[string]string{
	"Kubernetes":                         "k8s.io/kubernetes",
	"etcd":                               "go.etcd.io/etcd/server/v3",
	"Kyverno":                            "github.com/kyverno/kyverno",
	"Fulcio":                             "github.com/sigstore/fulcio",
	"Rekor (log version 1)":              "github.com/sigstore/rekor",
	"Rekor (log version 2)":              "github.com/sigstore/rekor-tiles/v2",
	"cosign":                             "github.com/sigstore/cosign/v3",
	"Argo CD":                            "github.com/argoproj/argo-cd/v3",
	"Flux's kustomize-controller":        "github.com/fluxcd/kustomize-controller",
	"Flux's source-controller":           "github.com/fluxcd/source-controller",
	"Helm":                               "helm.sh/helm/v4",
	"act (a runner of GitHub workflows)": "github.com/nektos/act",
}

// TestVersions: docs/how-to/install.md lists the versions that the end-to-end tests run.
func TestVersions(t *testing.T) {
	_, rest, _ := strings.Cut(string(read(t, "docs/how-to/install.md")), "| program |")
	table, _, _ := strings.Cut(rest, "\n\n")
	rows := regexp.MustCompile(`(?m)^\| ([^|]+) \| ([0-9.]+) \| (\S+) \|$`).FindAllStringSubmatch(table, -1)
	expect.That(t, len(rows) == len(tested), "there are %d rows, want %d", len(rows), len(tested))
	for _, row := range rows {
		if module := tested[row[1]]; !strings.Contains(string(read(t, row[3]+"/go.mod")), "\t"+module+" v"+row[2]+" ") {
			t.Errorf("%s/go.mod has another version of %s (%q) than %s", row[3], row[1], module, row[2])
		}
	}
}

// languages tell how pre-commit gets the program of a hook: it builds it with Go, or it is installed.
var languages = map[string]string{"polex-validate": "golang", "polex-validate-system": "system"}

// TestPreCommitHooks compares the hooks with their commands and files.
func TestPreCommitHooks(t *testing.T) {
	raw := must.Get(os.ReadFile(filepath.Join("..", "..", ".pre-commit-hooks.yaml")))(t)
	var hooks []struct {
		ID            string   `json:"id"`
		Name          string   `json:"name"`
		Description   string   `json:"description"`
		Language      string   `json:"language"`
		Entry         string   `json:"entry"`
		Files         string   `json:"files"`
		Types         []string `json:"types"`
		RequireSerial bool     `json:"require_serial"`
	}
	must.Do(t, yaml.UnmarshalStrict(raw, &hooks))
	must.That(t, len(hooks) == len(languages), "there are %d hooks, want %d", len(hooks), len(languages))
	for _, hook := range hooks {
		command, _, _ := strings.Cut(hook.Entry, " ")
		_, err := os.Stat(filepath.Join("..", "..", "cmd", command, "main.go"))
		expect.That(t, err == nil, "%s runs %s, which is no command: %v", hook.ID, command, err)
		if want := languages[hook.ID]; want == "" || hook.Language != want || !hook.RequireSerial {
			t.Errorf("%s is to be of the language %q and given all files at once", hook.ID, want)
		}
		files := must.Get(regexp.Compile(hook.Files))(t)
		for path, want := range map[string]bool{
			"unsigned/web.yaml": true, "unsigned/team-a/web.yml": true, "clusters/a/unsigned/web.json": true,
			"signed/web.yaml": false, "notunsigned/web.yaml": false, "unsigned/README.md": false, "unsigned.yaml": false,
		} {
			expect.That(t, files.MatchString(path) == want, "%s is for %s: %v", hook.ID, path, !want)
		}
	}
}

// attacks are the numbers of the attacks that the threat model must answer.
var attacks = []string{"88", "89", "90", "91", "92", "93", "94", "96", "97",
	"99", "100", "101", "102", "103", "105", "106", "107", "108", "109", "110", "111", "112", "113", "114", "115", "116",
	"117", "118", "119", "120", "121", "122", "123", "124", "125"}

// TestThreatModel: each attack has an answer, and the tests that it names exist.
func TestThreatModel(t *testing.T) {
	all := files(t)
	var met []string
	for line := range strings.SplitSeq(string(read(t, "docs/explanation/threat-model.md")), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		number := strings.TrimSpace(cells[0])
		last := strings.TrimSpace(cells[len(cells)-1])
		if len(cells) < 3 || last == "shown by" || last == "---" {
			continue
		}
		if regexp.MustCompile(`^\d+$`).MatchString(number) {
			met = append(met, number)
		}
		shown := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(last, -1)
		expect.That(t, len(shown) != 0, "nothing shows the answer to %s", number)
		for _, test := range shown {
			expect.That(t, exists(t, all, test[1]), "%s: there is no test %q", number, test[1])
		}
	}
	expect.That(t, slices.Equal(met, attacks), "the threat model answers %q, not %q", met, attacks)
}

// exists reports whether there is a script with this path, or a test written as "folder TestName".
func exists(t *testing.T, all []string, test string) bool {
	t.Helper()
	folder, name, isFunction := strings.Cut(test, " ")
	if !isFunction {
		return strings.HasSuffix(test, ".txtar") && slices.Contains(all, test)
	}
	return slices.ContainsFunc(all, func(file string) bool {
		rest, inside := strings.CutPrefix(file, folder+"/")
		return inside && !strings.Contains(rest, "/") && strings.HasSuffix(rest, "_test.go") && strings.Contains(string(read(t, file)), "\nfunc "+name+"(t *testing.T) {")
	})
}

var (
	fencedBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	codeSpan    = regexp.MustCompile("`[^`\n]*`")
	linkTarget  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headingLine = regexp.MustCompile(`(?m)^#+ +(.*?)$`)
	ownAnchor   = regexp.MustCompile(`<a id="([a-z-]+)"></a>`)
	slugless    = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
	published   = regexp.MustCompile(`^https://github\.com/polex-dev/polex/(blob|tree)/main/`)
	pageName    = regexp.MustCompile(`\bdocs/([a-z/-]+\.(?:md|schema\.json)(?:#[\w-]+)?)`)
)

// anchors returns the fragments that GitHub gives the headings of a page, and those of its own.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range headingLine.FindAllStringSubmatch(fencedBlock.ReplaceAllString(text, ""), -1) {
		title := linkTarget.ReplaceAllString(m[1], "]")
		slug := strings.ReplaceAll(slugless.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
		unique := slug
		for n := 1; found[unique]; n++ {
			unique = fmt.Sprintf("%s-%d", slug, n)
		}
		found[unique] = true
	}
	for _, m := range ownAnchor.FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}
	return found
}

// TestLinks: every relative link of a page, and every page that another file names, leads to an
// existing file and heading.
func TestLinks(t *testing.T) {
	exists, links := map[string]bool{}, 0
	all := files(t)
	for _, name := range all {
		for ; name != "."; name = path.Dir(name) {
			exists[name] = true
		}
	}
	check := func(from, target string) {
		links++
		name, fragment, _ := strings.Cut(target, "#")
		switch {
		case !exists[name]:
			t.Errorf("%s: the link to %s leads to no file", from, target)
		case fragment != "" && (path.Ext(name) != ".md" || !anchors(string(read(t, name)))[fragment]):
			t.Errorf("%s: %s has no heading #%s", from, name, fragment)
		}
	}
	for _, name := range all {
		switch path.Ext(name) {
		case ".md":
			text := codeSpan.ReplaceAllString(fencedBlock.ReplaceAllString(string(read(t, name)), ""), "code")
			for _, m := range linkTarget.FindAllStringSubmatch(text, -1) {
				target := published.ReplaceAllString(m[1], "/")
				expect.That(t, !strings.HasPrefix(name, "examples/github/") || !strings.HasPrefix(target, ".."),
					"%s: the link to %s leads nowhere in a copy of the folder", name, target)
				switch {
				case strings.HasPrefix(target, "/"):
					check(name, target[1:])
				case strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:"):
				case strings.HasPrefix(target, "#"):
					check(name, name+target)
				default:
					check(name, path.Join(path.Dir(name), target))
				}
			}
		case ".go", ".yaml", ".yml", ".json", ".sh", "":
			for _, m := range pageName.FindAllStringSubmatch(string(read(t, name)), -1) {
				if m[0] != "docs/oid-info.md" { // of Fulcio
					check(name, m[0])
				}
			}
		}
	}
	expect.That(t, links >= 200, "found only %d links", links)
}

// module is the path of the root module.
const module = "github.com/polex-dev/polex"

// pkg has the fields of `go list -json` that the rules use.
type pkg struct {
	ImportPath string
	Name       string
	Dir        string
	GoFiles    []string
	Imports    []string
}

// rel returns the package's path inside the module: "pkg/seal".
func (p pkg) rel() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

// look opens every directory of the repository. go test caches a result until a file changes that
// the test itself opened; it does not see files that git and go list read.
var look = sync.OnceValue(func() error {
	return filepath.WalkDir(filepath.Join("..", ".."), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "bin") {
			return fs.SkipDir
		}
		return err
	})
})

// output runs a command at the repository's root.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	must.Do(t, look())
	cmd := exec.Command(name, args...)
	cmd.Dir = filepath.Join("..", "..")
	return must.Output(t, cmd)
}

// list returns `go list` of the patterns, without test files.
func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(output(t, "go",
		append([]string{"list", "-json=ImportPath,Name,Dir,GoFiles,Imports"}, args...)...)))
	var pkgs []pkg
	for {
		var p pkg
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return pkgs
		case err != nil:
			t.Fatalf("read go list's answer: %v", err)
		}
		pkgs = append(pkgs, p)
	}
}

// files returns the paths of the repository's committed and new files, with slashes and relative to the root.
func files(t *testing.T) []string {
	t.Helper()
	out := output(t, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	names := strings.Split(strings.TrimRight(out, "\x00"), "\x00")
	// A file that was deleted but not yet staged is still listed.
	names = slices.DeleteFunc(names, func(name string) bool {
		_, err := os.Lstat(filepath.Join("..", "..", name))
		return errors.Is(err, os.ErrNotExist)
	})
	must.That(t, slices.Contains(names, "go.mod"), "git lists %d files and no go.mod: not the root?", len(names))
	return names
}

// read returns the content of one file of the repository.
func read(t *testing.T, name string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(filepath.Join("..", "..", name)))(t)
}
