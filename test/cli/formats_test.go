package cli_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/promotion/commitmessage"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/test/must"
)

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
	if err != nil || len(sources) == 0 {
		t.Fatal(err)
	}
	for _, name := range sources {
		raw := must.Get(os.ReadFile(name))(t)
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, constant := range regexp.MustCompile(`Annotation\w+ += "(polex\.dev/[a-z-]+)"`).FindAllStringSubmatch(string(raw), -1) {
			ours[constant[1]] = true
			d := must.Get(exception.Parse([]byte("metadata: {annotations: {"+constant[1]+": x}}\n"), ""))(t)
			if unknown := manifest.UnknownKeys(d, nil); unknown != nil {
				t.Errorf("the table of annotations lacks one: %v", unknown)
			}
		}
	}
	if len(ours) < 15 {
		t.Errorf("only %d annotations were found", len(ours))
	}
	if got, want := named(t, formats, `polex\.dev/[a-z-]+`), slices.Sorted(maps.Keys(ours)); !slices.Equal(got, want) {
		t.Errorf("it lists the annotations\n%v, and there are\n%v", got, want)
	}
	if !strings.Contains(formats, "`"+exception.LabelTTL+"`") {
		t.Error("Kyverno's label is missing")
	}
	of := []string{commitmessage.LogIndex, commitmessage.Pruned, commitmessage.Replaces, commitmessage.Source}
	slices.Sort(of)
	if got := named(t, formats, `Polex-[A-Za-z-]+`); !slices.Equal(got, of) {
		t.Errorf("it lists the trailers %v, and there are %v", got, of)
	}
	parts := []string{"bundle", "bundle.v0.3", "certificate", "message", "signature"}
	for i := range parts {
		parts[i] = seal.Prefix + parts[i]
	}
	if got := named(t, formats, regexp.QuoteMeta(seal.Prefix)+`[a-z0-9.]+`); !slices.Equal(got, parts) {
		t.Errorf("it lists the parts %v, and there are %v", got, parts)
	}
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
			if differences(where, name[1]) != 0 {
				t.Errorf("%s of %s may not differ", name[1], where)
			}
			if differences(where, name[1]+"x") == 0 {
				t.Errorf("%sx of %s may differ", name[1], where)
			}
		}
	}
	if rows != 37 {
		t.Errorf("the page lists %d that may differ", rows)
	}
}

// follows checks that the last command wrote JSON that matches a schema in docs/.
func follows(t *testing.T, name string) func(*testscript.TestScript, bool, []string) {
	t.Helper()
	schema := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(must.Get(os.ReadFile("../../docs/" + name))(t))))(t)
	compiler := jsonschema.NewCompiler()
	must.Do(t, compiler.AddResource(name, schema))
	compiled := must.Get(compiler.Compile(name))(t)
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: reported|told stdout|stderr|file")
		}
		written, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile(args[0])))
		ts.Check(err)
		ts.Check(compiled.Validate(written))
	}
}
