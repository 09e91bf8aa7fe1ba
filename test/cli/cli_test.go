package cli_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/polex-dev/polex/internal/forge/githubtest"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/promotion/commitmessage"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
	"github.com/polex-dev/polex/test/programs"
	"github.com/polex-dev/polex/test/schema"
	"github.com/polex-dev/polex/test/scripttest"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

// binaries is the folder with the commands that TestMain builds.
var binaries string

func TestMain(m *testing.M) {
	if url := os.Getenv("POLEX_TEST_BROWSE"); url != "" {
		os.Exit(browse(url))
	}
	flag.Parse()
	var err error
	if binaries, err = programs.Build("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestScripts(t *testing.T) {
	sigstore := sigstoreVariables(t)
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, sigstore...)
			env.Setenv("PATH", binaries+string(filepath.ListSeparator)+os.Getenv("PATH"))
			env.Setenv("BINARIES", binaries)
			env.Setenv("IN_AN_HOUR", time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
			env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			env.Setenv("HOME", env.WorkDir)
			env.Values[tufKey] = &tufServer{}
			env.Values[scripttest.ForgeKey{}] = new(*githubtest.Server)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      scripttest.Exits,
			"same":       same,
			"token":      token,
			"filler":     scripttest.Takes("filler file mebibytes", filler),
			"binary":     scripttest.Takes("binary file", binary),
			"browser":    browser,
			"tuf":        scripttest.Takes("tuf serve|publish|expire|break file", tuf),
			"fault":      scripttest.Takes("fault variable kind", fault),
			"actions":    actions,
			"github":     gitHub,
			"forge":      scripttest.Forge,
			"pull":       scripttest.Pull,
			"pulls":      scripttest.Pulls,
			"people":     scripttest.Takes("people log", people),
			"keypair":    scripttest.Takes("keypair private public password", keypair),
			"reported":   follows(t, "report.schema.json"),
			"told":       follows(t, "ledger.schema.json"),
			"documented": documented(t, "\x00"),
			"line":       documented(t, "\n"),
			"shell":      scripttest.Takes("shell line", shell),
		},
	})
}

// browser puts an xdg-open on the path. It visits the given page like a browser with a user, and
// does not wait for the answer.
func browser(ts *testscript.TestScript, _ bool, _ []string) {
	self, err := os.Executable()
	ts.Check(err)
	dir := ts.MkAbs("browser")
	ts.Check(os.MkdirAll(dir, 0o755))
	script := fmt.Sprintf("#!/bin/sh\nPOLEX_TEST_BROWSE=\"$1\" %q >/dev/null 2>&1 </dev/null &\n", self)
	ts.Check(os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o755))
	ts.Setenv("PATH", dir+string(filepath.ListSeparator)+ts.Getenv("PATH"))
}

// browse visits a page and returns an exit code.
func browse(url string) int {
	client := http.Client{Timeout: time.Minute}
	resp, err := client.Get(url)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		fmt.Fprintln(os.Stderr, resp.Status)
		return 1
	}
	return 0
}

// shell LINE runs a line in a shell.
func shell(ts *testscript.TestScript, args []string) {
	ts.Check(ts.Exec("sh", "-ec", args[0]))
}

// filler FILE MEBIBYTES writes a large YAML file.
func filler(ts *testscript.TestScript, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	line := append(bytes.Repeat([]byte("x"), 1023), '\n')
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = f.WriteString("key: |\n")
	ts.Check(err)
	chunk := bytes.Repeat(append([]byte("  "), line...), 1024)
	for range n {
		_, err = f.Write(chunk)
		ts.Check(err)
	}
	ts.Check(f.Close())
}

// binary FILE writes bytes that are not text.
func binary(ts *testscript.TestScript, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte{0x7f, 'E', 'L', 'F', 0, 0, 0xff, 0xfe}, 0o600))
}

// named returns the first cells of a page's rows that match a pattern.
func named(t *testing.T, page, pattern string) []string {
	t.Helper()
	var found []string
	for _, row := range regexp.MustCompile("(?m)^\\| `("+pattern+")` \\|").FindAllStringSubmatch(page, -1) {
		found = append(found, row[1])
	}
	slices.Sort(found)
	return found
}

// TestFormats compares the tables of docs/reference/formats.md with the code: they list every
// written format and nothing else.
func TestFormats(t *testing.T) {
	formats := page(t, "docs/reference/formats.md")
	ours := map[string]bool{}
	sources, err := filepath.Glob("../../pkg/exception/*.go")
	must.That(t, err == nil && len(sources) != 0, "%v", err)
	for _, name := range sources {
		raw := must.Get(os.ReadFile(name))(t)
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, constant := range regexp.MustCompile(`Annotation\w+ += "(polex\.dev/[a-z-]+)"`).FindAllStringSubmatch(string(raw), -1) {
			ours[constant[1]] = true
			d := must.Get(exception.Parse([]byte("metadata: {annotations: {"+constant[1]+": x}}\n"), ""))(t)
			unknown := manifest.UnknownKeys(d, nil)
			expect.That(t, unknown == nil, "the table of annotations lacks one: %v", unknown)
		}
	}
	expect.That(t, len(ours) >= 15, "only %d annotations were found", len(ours))
	if got, want := named(t, formats, `polex\.dev/[a-z-]+`), slices.Sorted(maps.Keys(ours)); !slices.Equal(got, want) {
		t.Errorf("it lists the annotations\n%v, and there are\n%v", got, want)
	}
	expect.That(t, strings.Contains(formats, "`"+exception.LabelTTL+"`"), "Kyverno's label is missing")
	of := []string{commitmessage.LogIndex, commitmessage.Pruned, commitmessage.Replaces, commitmessage.Source}
	slices.Sort(of)
	got := named(t, formats, `Polex-[A-Za-z-]+`)
	expect.That(t, slices.Equal(got, of), "it lists the trailers %v, and there are %v", got, of)
	parts := []string{"bundle", "bundle.v0.3", "certificate", "message", "signature"}
	for i := range parts {
		parts[i] = seal.Prefix + parts[i]
	}
	got = named(t, formats, regexp.QuoteMeta(seal.Prefix)+`[a-z0-9.]+`)
	expect.That(t, slices.Equal(got, parts), "it lists the parts %v, and there are %v", got, parts)
}

// TestWhatMayDiffer compares the page's list with the comparison: each entry may be added to a
// signed object in the listed place.
func TestWhatMayDiffer(t *testing.T) {
	const signed = `{"apiVersion":"kyverno.io/v2","kind":"PolicyException","metadata":{"name":"a","annotations":{"b":"c"},"labels":{"d":"e"}},"spec":{}}`
	message := must.Get(exception.Parse([]byte(signed), "message"))(t)
	ways := map[string][2]string{
		"metadata":    {`"name":"a"`, `"name":"a","%s":"x"`},
		"the object":  {`"spec":{}`, `"spec":{},"%s":{}`},
		"annotations": {`"b":"c"`, `"b":"c","%s":"x"`},
		"labels":      {`"d":"e"`, `"d":"e","%s":"x"`},
	}
	differences := func(where, name string) int {
		way := ways[where]
		live := must.Get(exception.Parse([]byte(strings.Replace(signed, way[0], strings.ReplaceAll(way[1], "%s",
			name), 1)), "live"))(t)
		return len(seal.Compare(live, message, 8))
	}
	_, listed, _ := strings.Cut(page(t, "docs/reference/formats.md"), "### What may differ")
	listed, _, _ = strings.Cut(listed, "\n## ")
	rows := 0
	for where := range ways {
		row := regexp.MustCompile("(?m)^\\| (?:`)?" + where + "(?:`)? \\| (.*) \\|$").FindStringSubmatch(listed)
		if row == nil {
			t.Errorf("the page says nothing of %s", where)
			continue
		}
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			rows++
			expect.That(t, differences(where, name[1]) == 0, "%s of %s may not differ", name[1], where)
			expect.That(t, differences(where, name[1]+"x") != 0, "%sx of %s may differ", name[1], where)
		}
	}
	expect.That(t, rows == 37, "the page lists %d that may differ", rows)
}

// follows checks that the last command wrote JSON that matches a schema in docs/.
func follows(t *testing.T, name string) func(*testscript.TestScript, bool, []string) {
	t.Helper()
	compiled := schema.Compile(t, "../../docs/"+name)
	return scripttest.Takes("reported|told stdout|stderr|file", func(ts *testscript.TestScript, args []string) {
		written, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile(args[0])))
		ts.Check(err)
		ts.Check(compiled.Validate(written))
	})
}
