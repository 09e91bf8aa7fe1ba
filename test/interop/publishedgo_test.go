package interop_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/must"
)

// kyvernoGoPublished returns the admission requests in Kyverno's own Go tests, by the attestors of
// each test function.
func kyvernoGoPublished(t *testing.T, dir string) []published {
	t.Helper()
	const file = "pkg/engine/handlers/validation/validate_manifest_test.go"
	source := readPublished(t, dir, file)
	parsed := must.Get(parser.ParseFile(token.NewFileSet(), file, source, 0))(t)
	texts := stringsOf(t, parsed)
	var all []published
	for _, declared := range parsed.Decls {
		function, ok := declared.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(function.Name.Name, "Test") {
			continue
		}
		body := string(source[function.Body.Pos()-1 : function.Body.End()-1])
		one := func(pattern string) string {
			found := regexp.MustCompile(pattern).FindAllStringSubmatch(body, -1)
			if len(found) != 1 {
				t.Fatalf("%s: %d of %s", function.Name.Name, len(found), pattern)
			}
			return found[0][1]
		}
		var request struct{ Object json.RawMessage }
		if err := json.Unmarshal([]byte(texts[one(`json\.Unmarshal\(\[\]byte\((\w+)\), &request\)`)]), &request); err != nil {
			t.Fatalf("%s: %v", function.Name.Name, err)
		}
		all = append(all, published{project: "Kyverno", file: file, name: function.Name.Name,
			theirs: one(`assert\.Equal\(t, verified, (true|false)\)`) == "true", config: attestorsOf(t, body, texts).config(t), raw: request.Object})
	}
	return all
}

// stringsOf returns the texts that a file declares outside of functions, by name.
func stringsOf(t *testing.T, file *ast.File) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, declared := range file.Decls {
		general, ok := declared.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			value, ok := spec.(*ast.ValueSpec)
			if !ok || len(value.Values) != 1 {
				continue
			}
			literal, ok := value.Values[0].(*ast.BasicLit)
			if !ok {
				continue
			}
			text := must.Get(strconv.Unquote(literal.Value))(t)
			texts[value.Names[0].Name] = text
		}
	}
	return texts
}

var (
	goAttestor = regexp.MustCompile("PublicKeys: (\\w+),|Raw: \\[\\]byte\\(`([^`]+)`\\)")
	goCount    = regexp.MustCompile(`count := (\d+)\n`)
)

// attestorsOf reads the only set of attestors in a test function.
func attestorsOf(t *testing.T, body string, texts map[string]string) attestorSet {
	t.Helper()
	var entries []map[string]any
	for _, found := range goAttestor.FindAllStringSubmatch(body, -1) {
		if found[1] != "" {
			entries = append(entries, map[string]any{"keys": map[string]any{"publicKeys": texts[found[1]]}})
		} else {
			entries = append(entries, map[string]any{"attestor": json.RawMessage(found[2])})
		}
	}
	written := map[string]any{"entries": entries}
	if count := goCount.FindStringSubmatch(body); count != nil {
		written["count"] = json.RawMessage(count[1])
	}
	raw := must.Get(json.Marshal(written))(t)
	var set attestorSet
	must.Do(t, json.Unmarshal(raw, &set))
	if strings.Count(body, "AttestorSet{") != 1 || len(entries) == 0 {
		t.Fatalf("attestors that are not understood:\n%s", body)
	}
	return set
}
