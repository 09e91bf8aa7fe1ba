package exception_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestKustomizeReadsOtherwise: a file that kustomize renders to another object than kubectl reads is
// refused, with its position and the edit that ends it.
func TestKustomizeReadsOtherwise(t *testing.T) {
	for _, tc := range []struct {
		name, source string
		where        string // line:column
		message      string // part of it
		hint         string // part of it
		edited       string // the source after the edit
	}{
		{"a date", "a: 2026-01-01\n", "1:4", `the text "2026-01-01T00:00:00Z", not as the text "2026-01-01"`, "double quotes", "a: \"2026-01-01\"\n"},
		{"a date in a list", "a: [x, 2026-01-01]\n", "1:8", `the text "2026-01-01T00:00:00Z"`, "double quotes", "a: [x, \"2026-01-01\"]\n"},
		{"a short date", "a:\n- b: 2026-1-1\n", "2:6", `the text "2026-01-01T00:00:00Z"`, "double quotes", "a:\n- b: \"2026-1-1\"\n"},
		{"a time with a fraction", "a: 2026-01-01T10:00:00.500Z\n", "1:4", `the text "2026-01-01T10:00:00.5Z"`, "double quotes", "a: \"2026-01-01T10:00:00.500Z\"\n"},
		{"a folded text with a deeper line", "a: >-\n  x\n    y\n  z\n", "1:4", `the text "x\n\n  y\nz"`, "double quotes", "a: \"x\\n  y\\nz\"\n"},
		{"a block text at the end of the file", "a: |\n  b\nc: |\n  prod", "3:4", `the text "prod", not as the text "prod\n"`, "end the file with a line break", "a: |\n  b\nc: |\n  prod\n"},
		{"a folded text at the end of the file", "c: >\n  prod", "1:4", `the text "prod"`, "end the file with a line break", "c: >\n  prod\n"},
		{"a key without a value in braces", "a: {b}\n", "1:6", `the text "", not as null`, "write null", "a: {b: null}\n"},
		{"an empty value in braces", "a: {b: , c: d}\n", "1:8", `the text "", not as null`, "write null", "a: {b: null, c: d}\n"},
		{"a line separator", `a: "\u0085"` + "\n", "1:4", `the text " "`, "", ""},
		{"an escape of JSON", `{"a": "\/"}`, "1:1", "cannot read", "plain YAML", `{"a": "/"}`},
		{"an escaped pair of JSON", `{"a": "\ud83d\ude00"}`, "1:1", "cannot read", "plain YAML", `{"a": "😀"}`},
		{"a colon on the next line of JSON", "{\"a\"\n: 1}", "1:1", "cannot read", "plain YAML", `{"a": 1}`},
		{"a tab before JSON", "\t{\"a\": 1}", "1:1", "cannot read", "plain YAML", `{"a": 1}`},
		{"a tab behind JSON", "{\"a\": 1}\n\t\n", "2:1", "cannot read", "plain YAML", `{"a": 1}`},
		{"a second JSON document", "{\"a\": 1}\n{\"b\": 2}\n", "2:1", "reads only the first", `"---"`, "a: 1\n---\nb: 2\n"},
		{"a later document", "x: b\n---\na: 2026-01-01\n---\nz: 1\n", "3:4", "kustomize", "double quotes", "x: b\n---\na: \"2026-01-01\"\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := readWhole([]byte(tc.source))
			expect.Contains(t, syntaxError(t, err, tc.where, tc.message).Hint, tc.hint)
			must.Get(readWhole([]byte(tc.edited)))(t)
		})
	}
}

// readWhole returns the documents of a stream, or the first error.
func readWhole(source []byte) ([]*exception.Document, error) {
	return all(exception.NewReader(bytes.NewReader(source), "file"))
}

func all(r *exception.Reader) ([]*exception.Document, error) {
	var docs []*exception.Document
	for {
		d, err := r.Next()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
}

// kustomizes returns the objects that kubectl reads in what kustomize makes of a file. It is
// kustomize's own code: the reader of its resource factory, and Resource.AsYAML.
func kustomizes(source []byte) ([]any, error) {
	nodes, err := kio.FromBytes(source)
	if err != nil {
		return nil, err
	}
	var objects []any
	for _, n := range nodes {
		raw, err := n.MarshalJSON()
		if err != nil {
			return nil, err
		}
		out, err := yaml.JSONToYAML(raw)
		if err != nil {
			return nil, err
		}
		read, err := kubectls(out, 4096)
		if err != nil || len(read) != 1 {
			return nil, fmt.Errorf("%d documents, %w", len(read), err)
		}
		objects = append(objects, read[0].value)
	}
	return objects, nil
}

// sameObjects reports whether kustomize renders the documents to the same objects.
func sameObjects(source []byte, docs []*exception.Document) (diff string) {
	theirs, err := kustomizes(source)
	if err != nil || len(theirs) != len(docs) {
		return fmt.Sprintf("%d documents here, and %d to kustomize (%v)", len(docs), len(theirs), err)
	}
	for i, d := range docs {
		if diff := cmp.Diff(wholeAsInteger(theirs[i]), wholeAsInteger(d.Object())); diff != "" {
			return fmt.Sprintf("document %d (-kustomize +ours):\n%s", i, diff)
		}
	}
	return ""
}

// checkKustomize fails if polex accepts a file that kustomize reads otherwise, or refuses for
// kustomize's sake one that it does not.
func checkKustomize(t *testing.T, source []byte) {
	t.Helper()
	deployed, err := readWhole(source)
	if err == nil {
		if diff := sameObjects(source, deployed); diff != "" && !slices.ContainsFunc(deployed, (*exception.Document).IsList) {
			asked := slices.ContainsFunc(deployed, (*exception.Document).AskedKustomize)
			t.Fatalf("%q is accepted, asked %t: %s", source, asked, diff)
		}
		return
	}
	if !strings.Contains(err.Error(), "kustomize") {
		return
	}
	docs, undeployedErr := all(exception.Undeployed(bytes.NewReader(source)))
	must.That(t, undeployedErr != nil || sameObjects(source, docs) != "",
		"%q is refused (%v), and kustomize reads the same objects", source, err)
}

// FuzzKustomize compares generated documents with kustomize, on both sides of the test that decides
// if kustomize is asked.
func FuzzKustomize(f *testing.F) {
	for i := range 64 {
		f.Add(bytes.Repeat([]byte{byte(i), byte(37 * i), byte(101 * i), 7, byte(i * i)}, 12))
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		g := &generator{choices: choices}
		checkKustomize(t, []byte(g.file()))
	})
}

// generator makes a file of YAML or JSON from choices.
type generator struct {
	choices []byte
	b       strings.Builder
	budget  int
	usual   bool // only values and layouts that are not in doubt
}

// of picks one of a list, or one of its first ones.
func (g *generator) of(list []string, usual int) string {
	if g.usual {
		list = list[:usual]
	}
	return list[g.pick(len(list))]
}

func (g *generator) pick(n int) int {
	if len(g.choices) == 0 {
		return 0
	}
	c := g.choices[0]
	g.choices = g.choices[1:]
	return int(c) % n
}

var plainScalars = []string{"b", "a b", "true", "12", "v1", "1.2.3", "-1", "10m", "http://x/y", "a\n      b", "", "2026-01-01", "2026-01-01T00:00:00Z", "2026-1-2 3:4:5", "1.5", "1e3", "0.0", "-0", "1e21", "x: y", "x #y", "~", "null", "", "é", "😀", "v1", "1.2.3", "0b1765e8",
	"=", "<", "a\n  b", "9007199254740993", "-1", "+1", "http://x/y", "@x", "10m", "2001-01-01x", "12:30", "Null", "TRUE", "y2", "-", "--", "a, b", "{{ x }}"}

var quotedScalars = []string{`"b"`, `'b'`, `"2026-01-01"`, `'it''s'`, `"a\nb"`, `"a: b"`, `"1e3"`, `"#"`, `"on"`, `"{a}"`, `"%a"`, `""`, `"\n a"`, `"a \nb"`, `" a"`, `"a\tb"`, `"\u0085"`, `"\u2028"`, `"\x7f"`, `"é"`, `"a\n\n"`, `"#"`, `"- a"`, `"a: b"`, `"true"`, `"1e3"`, `"\\"`, `"\""`,
	`"on"`, `"~"`, `""`, `''`, `"0o17"`, `"1_000"`, `"'"`, `'"'`, `"<<"`, `"="`, `"!x"`, `"&x"`, `"*x"`, `"a\n"`, `"\n"`, "\"a\n  b\"", "'a\n\n  b'", `"\0"`, `"\ufeff"`, `"a b  c   d"`, `"? a"`, `"[a]"`, `"{a}"`, `"%a"`, "\"`a\"", `"|"`, `"---"`, `"..."`,
	`"lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua"`}

var comments = []string{"", "", "", " # c", " # c: d", " #", "  # - x", " # {", " # é"}

func (g *generator) comment() string { return comments[g.pick(len(comments))] }

func (g *generator) ownLines(indent string) {
	most := 9
	if g.usual {
		most = 18
	}
	switch g.pick(most) {
	case 0:
		g.b.WriteString(indent + "# own: line\n")
	case 1:
		g.b.WriteString("\n")
	case 2:
		g.b.WriteString("# left\n\n" + indent + "# own\n")
	case 3:
		g.b.WriteString(indent + "    # deeper\n")
	}
}

func (g *generator) file() string {
	g.budget, g.usual = 24, g.pick(2) == 0
	for i := 0; ; i++ {
		if g.pick(8) == 0 {
			g.b.WriteString("---" + g.comment() + "\n")
		}
		if g.pick(6) == 0 {
			g.flow(0, true)
			g.b.WriteString(g.comment() + "\n")
		} else {
			g.mapping("", 0)
		}
		if g.pick(5) != 1 || i == 2 {
			break
		}
		g.b.WriteString("---\n")
	}
	out := g.b.String()
	choice := g.pick(7)
	if g.usual && choice == 1 {
		choice = 0
	}
	switch choice {
	case 1:
		out = strings.TrimSuffix(out, "\n")
	case 2:
		out += "# end\n"
	case 3:
		out += "\n\n"
	case 4:
		out = strings.ReplaceAll(out, "\n", "\r\n")
	case 5:
		out += "...\n"
	}
	return out
}

func (g *generator) mapping(indent string, depth int) {
	n := 1 + g.pick(4)
	for i := range n {
		if i > 0 {
			g.b.WriteString(indent)
		}
		key := g.of([]string{"a", "b c", "f.g/h", "k-l", "'e'", `"i j"`, "é", `"<<"`, strings.Repeat("m", 130), "2026-01-01"}, 5)
		if len(key) < 100 && key[0] != '"' && key[0] != '\'' {
			key += fmt.Sprint(i)
		}
		g.b.WriteString(key + ":")
		g.value(indent, depth)
		g.ownLines(indent)
	}
}

// value writes the text behind a key or a dash.
func (g *generator) value(indent string, depth int) {
	g.budget--
	inner := indent + strings.Repeat(" ", 1+g.pick(4))
	choice := g.pick(9)
	if g.budget < 0 || depth > 5 {
		choice = 0
	}
	switch choice {
	case 0, 1:
		g.b.WriteString(" " + g.of(plainScalars, 11) + g.comment() + "\n")
	case 2, 3:
		g.b.WriteString(" " + g.of(quotedScalars, 12) + g.comment() + "\n")
	case 4:
		g.b.WriteString(" " + g.of([]string{"|", ">"}, 1) + g.of([]string{"", "-", "+", "2"}, 2) + g.comment() + "\n")
		for range 1 + g.pick(4) {
			g.b.WriteString(g.of([]string{inner + "x y", inner + "x", inner + "  deeper", inner + "# no comment", inner + "a: b", "", inner + "- c", inner + "é", inner + "end  ", inner + "\ttab"}, 6) + "\n")
		}
	case 5:
		g.b.WriteString(" ")
		g.flow(0, false)
		g.b.WriteString(g.comment() + "\n")
	case 6:
		g.b.WriteString(g.comment() + "\n")
		g.ownLines(inner)
		g.b.WriteString(inner)
		g.mapping(inner, depth+1)
	default:
		g.b.WriteString(g.comment() + "\n")
		for range 1 + g.pick(3) {
			g.ownLines(inner)
			g.b.WriteString(inner + "-")
			if g.pick(3) == 0 {
				g.b.WriteString(" ")
				g.mapping(inner+"  ", depth+1)
				continue
			}
			g.value(inner+" ", depth+1)
		}
	}
}

// flow writes a value in brackets, over one or several lines, in YAML or JSON.
func (g *generator) flow(depth int, top bool) {
	g.budget--
	space := g.of([]string{"", " ", "\n      ", "\n    # c\n      ", "\t"}, 3)
	choice := g.pick(4)
	switch {
	case top:
		choice = 0
	case g.budget < 0 || depth > 4:
		choice = 3
	}
	switch choice {
	case 0:
		g.b.WriteString("{" + space)
		for i := range g.pick(4) {
			g.b.WriteString(g.of([]string{`"a`, "b", `"2026-01-01`, "2026-01-0"}, 3) + fmt.Sprint(i))
			if text := g.b.String(); strings.Count(text[strings.LastIndexAny(text, "{,\n")+1:], `"`)%2 == 1 {
				g.b.WriteString(`"`)
			}
			if g.usual || g.pick(9) > 0 {
				g.b.WriteString(g.of([]string{": ", ": ", ": ", " : ", ":", ":\n      "}, 5))
				g.flow(depth+1, false)
			}
			g.b.WriteString([]string{",", ", ", space + ","}[g.pick(3)])
		}
		g.b.WriteString("z: 1" + space + "}")
	case 1:
		g.b.WriteString("[" + space)
		for range g.pick(4) {
			g.flow(depth+1, false)
			g.b.WriteString([]string{",", ", ", space + ",", "," + space}[g.pick(4)])
		}
		g.b.WriteString("]")
	case 2:
		g.b.WriteString(g.of(quotedScalars, 12))
	default:
		g.b.WriteString(g.of(plainScalars, 11))
	}
}

// TestKustomizeBuild runs kustomize itself over the files of this repository that hold exceptions:
// its output is the object that polex read, or polex refuses the file.
func TestKustomizeBuild(t *testing.T) {
	built := 0
	for _, folder := range []string{"../../examples", "../../docs", "../../internal", "../../policies", "../../test"} {
		must.Do(t, filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			source, err := os.ReadFile(path)
			if err == nil && bytes.Contains(source, []byte("kind: PolicyException")) {
				built += buildsSame(t, path, source)
			}
			return err
		}))
	}
	expect.AtLeast(t, "files built", 10, built)
}

func buildsSame(t *testing.T, path string, source []byte) int {
	t.Helper()
	docs, err := readWhole(source)
	if err != nil || slices.ContainsFunc(docs, (*exception.Document).IsList) {
		return 0
	}
	disk := filesys.MakeFsInMemory()
	for name, content := range map[string][]byte{"kustomization.yaml": []byte("resources: [x.yaml]\n"), "x.yaml": source} {
		must.Do(t, disk.WriteFile(name, content))
	}
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, ".")
	if err != nil {
		return 0 // kustomize refuses it, so it deploys nothing else
	}
	out := must.Get(made.AsYaml())(t)
	var want []any
	for _, d := range docs {
		want = append(want, wholeAsInteger(d.Object()))
	}
	var got []any
	for _, read := range must.Get(kubectls(out, 4096))(t) {
		got = append(got, wholeAsInteger(read.value))
	}
	expect.Equal(t, path+" (-ours +kustomize)", want, got)
	return 1
}

// TestWrittenWithoutKustomize: what polex writes is never in doubt, so kustomize is not asked.
func TestWrittenWithoutKustomize(t *testing.T) {
	object := map[string]any{
		"apiVersion": "policies.kyverno.io/v1", "kind": "PolicyException",
		"metadata": map[string]any{"name": "web", "namespace": "exceptions",
			"annotations": map[string]any{"polex.dev/reason": "no tags yet: the \"vendor's\" 2026-01-01", "polex.dev/expires-at": "2026-06-08T12:00:00Z", "polex.dev/date": "2026-06-08"}},
		"spec": map[string]any{"policyRefs": []any{map[string]any{"name": "require-tags", "kind": "ValidatingPolicy"}},
			"images":          []any{"a:1", "b*"},
			"matchConditions": []any{map[string]any{"name": "web", "expression": "object.kind == 'Pod' &&\n  object.metadata.name == 'web'"}}},
	}
	count := map[string]int{}
	check := func(name string, source []byte, err error) {
		t.Helper()
		must.Do(t, err)
		docs, err := readWhole(source)
		must.That(t, err == nil, "%s: %v", name, err)
		for _, d := range docs {
			count[name]++
			expect.That(t, !d.AskedKustomize(), "%s: kustomize was asked about\n%s", name, source)
			expect.Is(t, name, "", sameObjects(source, docs))
		}
	}
	readable, err := manifest.Readable(object)
	check("readable", readable, err)
	canonical, err := exception.Canonical(object)
	check("canonical", canonical, err)
	doc := mustParse(t, string(readable))
	added, err := doc.Add(exception.Addition{Path: exception.Path{"metadata", "annotations", "cosign.sigstore.dev/message"}, Value: strings.Repeat("H4sIAAAA+/8B", 500) + "=="},
		exception.Addition{Path: exception.Path{"metadata", "annotations", "polex.dev/signed-at"}, Value: "2026-06-01T12:00:00Z"})
	must.Do(t, err)
	joined, err := exception.Join([]*exception.Document{added, doc})
	check("joined", joined, err)
	expect.That(t, cmp.Equal(map[string]int{"readable": 1, "canonical": 1, "joined": 2}, count), "checked %v", count)
}

// TestUsualFilesWithoutKustomize: the usual forms of a file that people write are not in doubt either.
func TestUsualFilesWithoutKustomize(t *testing.T) {
	for source, want := range map[string]bool{
		legacyWhole: true, policiesWhole: false, // a number with a fraction
		"# c\na: b # c\nc:\n  # d\n  - e\n": false,
		"a: [b, c]\nd: {e: f}\n":            false,
		"a: |\n  x\n    y\n":                false,
		"a: |\n  x\n# c\nb: c\n":            true,
		"a: >-\n  x\n":                      true,
		"a: b":                              true,
		"a: 1.5\n":                          true,
		`{"a": "b", "c": [1, true, "x\n"]}`: false,
		`{"a": null}`:                       true,
	} {
		doc := mustParse(t, source)
		expect.That(t, doc.AskedKustomize() == want, "%q: kustomize was asked: %t", source, doc.AskedKustomize())
	}
}
