package exception_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestReadersDisagree: text that kubectl reads as another object is rejected, with its position.
func TestReadersDisagree(t *testing.T) {
	for _, tc := range []struct {
		name, source string
		where        string // line:column
		message      string // part of it
	}{
		{"a sign and underscores", "a: -_9\n", "1:4", `the number -9, not as the text "-_9"`},
		{"underscores behind a zero", "a: 0_x1F\n", "1:4", "the number 31"},
		{"a sign in a binary number", "a: 0b-1\n", "1:4", "the number -1"},
		{"underscores in an exponent", "a: 1e_-5\n", "1:4", "the number 1e-05"},
		{"a plus and underscores", "a: [x, +_9]\n", "1:8", "the number 9"},
		{"a number for a key", "a:\n  -_9: b\n", "2:3", `without the key "-_9"`},
		{"a separator that is a key", "a: b\n---#x: y\n", "2:1", "separates documents"},
		{"a separator with text behind it", "a: b\n---x\n", "2:1", "separates documents"},
		{"a separator behind white space of Unicode", "a: |\n  b\n---\u00a0\nc: d\n", "3:1", "separates documents"},
		{"white space of Unicode before JSON", "\u00a0{a: b}: c\n", "1:1", "white space character U+00A0"},
		{"white space of Unicode and lines before JSON", "\n\u2003{\"a\": 1}\n", "1:1", "white space character U+2003"},
		{"more white space than tools look behind", strings.Repeat(" ", 1500) + "{\"a\": 1}\n", "1:1", "bytes of white space"},
		{"an end marker with nothing before it", "a: b\n---\n...\n", "2:1", "kubectl cannot read"},
		{"a separator in quotes", "a: \"x\n---y: z\"\n", "2:1", "separates documents"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := readWhole([]byte(tc.source))
			syntaxError(t, err, tc.where, tc.message)
		})
	}
}

// TestKubectlsList: kubectl reads an object with the key items as a list, for any kind.
func TestKubectlsList(t *testing.T) {
	for source, want := range map[string]bool{
		"apiVersion: v1\nkind: ConfigMap\nitems: []\n":             true,
		"apiVersion: v1\nkind: ConfigMap\nitems:\n":                true,
		"apiVersion: v1\nkind: ConfigMap\ndata:\n  items: a\n":     false,
		`{"apiVersion": "v1", "kind": "ConfigMap", "items": [{}]}`: true,
		"apiVersion: v1\nkind: ConfigMap\nItems: []\n":             false,
		"apiVersion: v1\nkind: ConfigMap\n\"\\u0069tems\": [{}]\n": true,
	} {
		d := mustParse(t, source)
		expect.Is(t, fmt.Sprintf("%q: a list", source), want, d.IsList())
		theirs, err := kubectls([]byte(source), 4096)
		expect.That(t, err == nil && theirs[0].list == want, "%q: kubectl: %+v, %v", source, theirs, err)
	}
}

// applied is one object that kubectl would apply.
type applied struct {
	value any
	list  bool
}

// kubectls reads a stream like kubectl (cli-runtime's StreamVisitor, buffer 4096) and like Flux (buffer 2048).
func kubectls(source []byte, buffer int) ([]applied, error) {
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(source), buffer)
	var all []applied
	for {
		var raw runtime.RawExtension
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		raw.Raw = bytes.TrimSpace(raw.Raw)
		if len(raw.Raw) == 0 || bytes.Equal(raw.Raw, []byte("null")) {
			continue
		}
		var one applied
		if err := kjson.UnmarshalCaseSensitivePreserveInts(raw.Raw, &one.value); err != nil {
			return nil, err
		}
		if object, err := runtime.Decode(unstructured.UnstructuredJSONScheme, raw.Raw); err == nil {
			_, one.list = object.(*unstructured.UnstructuredList)
		}
		all = append(all, one)
	}
}

// FuzzReadersAgree compares whole streams with kubectl and Flux. If polex accepts every document of
// a stream, they read the same documents, and no others.
func FuzzReadersAgree(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	for _, seed := range []string{
		"a: b\nc: |\n  prod", "a: -_9\n", "a: 0_x1F\n", "a: 0b-1\n", "a: 1e_-5\n", "---\u00a0\na: b\n", "a: b\n---#x: y\n", "\u00a0{a: b}: c\n", "a: b\n---\n...\n", "items: []\nkind: a\napiVersion: b\n",
		"a: b\n---\n%TAG ! x\n---\nc: d\n", "# c\n---\n---\n%a: b\n", "{\"a\": 1}\n---\nb: 2\n", "{\"a\": 1}{\"b\": 2}\n", " \n\t{\"a\": 1}", "--- # c\r\na: b\r\n--- \r\nc: d", "a: b\n\n---\n\n# x\n", "a: \"x\n\n  y\"\n---\nb: 'z'\n", "a: >-\n\n  x\n\n", "? |\n  a\n: b\n",
		"a: 1__0\n", "a: 0o_7\n", "a: +.5_0\n", "a: 2001-01-01 00:00:00\n", "a: 1E5\n", "a: -0\n", "a: -0.0\n", "a: 1_e5\n", "a: 0x_f\n", "a: .5e+_1\n", "a: \"\\x41\\/\\N\"\n", "a: \"\\ud83d\\ude00\"\n", "{\"a\": \"\\ud83d\\ude00\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		checkKustomize(t, source)
		ours, err := readWhole(source)
		if err != nil {
			return
		}
		for _, buffer := range []int{2048, 4096} {
			theirs, err := kubectls(source, buffer)
			must.That(t, err == nil && len(theirs) == len(ours),
				"%q: %d documents here, and %d to others (%v)", source, len(ours), len(theirs), err)
			for i, d := range ours {
				diff := cmp.Diff(wholeAsInteger(theirs[i].value), wholeAsInteger(d.Object()))
				must.That(t, diff == "", "%q: document %d (-kubectl +ours):\n%s", source, i, diff)
				must.That(t, !theirs[i].list || d.IsList(), "%q: document %d is a list to kubectl", source, i)
			}
		}
		if len(ours) == 0 {
			return
		}
		out := must.Get(exception.Join(ours))(t)
		if theirs, err := kubectls(out, 4096); err != nil || len(theirs) != len(ours) {
			t.Fatalf("%q is written as %q, which kubectl reads as %d documents (%v)", source, out, len(theirs), err)
		}
	})
}

// TestStream: documents are written with their original bytes, or not at all.
func TestStream(t *testing.T) {
	two := []*exception.Document{mustParse(t, "a: 1 # c\n"), mustParse(t, "# x\n---\nb: 2")}
	out := must.Get(exception.Join(two))(t)
	expect.Is(t, "stream", "a: 1 # c\n---\n# x\n---\nb: 2\n", string(out))
	// YAML and JSON in one stream.
	expect.Failure(exception.Join([]*exception.Document{two[0], mustParse(t, `{"a": 1}`)}))(t)
	s := exception.Stream{Limit: 12}
	expect.Error(t, errors.Join(s.Add(two[0]), s.Add(two[1])), "larger than")
	made := must.Get(exception.FromObject(map[string]any{"a": "b"}))(t)
	expect.Failure(exception.Join([]*exception.Document{made}))(t) // a document without a source was written
	var empty exception.Stream
	expect.Is(t, "an empty stream", 0, len(must.Get(empty.Bytes())(t)))
}

// TestNodesAreCountedFirst: a document that needs much memory for parsing is rejected before it is parsed.
func TestNodesAreCountedFirst(t *testing.T) {
	for name, source := range map[string]string{
		"pairs": "a: [" + strings.Repeat("? b,", 100_000) + "]\n", "lists": "a: [" + strings.Repeat("[],", 150_000) + "]\n", "items": "a:\n" + strings.Repeat("-\n", 250_000),
		"comments": "a: b\n" + strings.Repeat("#\n", 250_000), "JSON": `{"a":[` + strings.Repeat("1,", 250_000) + "1]}", "lines": "a: b\n" + strings.Repeat("\n", 500_000),
		"digits": "a: " + strings.Repeat("1", 500_000) + "\n", "digits and underscores": "a: " + strings.Repeat("1_", 250_000) + "\n", "digits of JSON": `{"a":` + strings.Repeat("1", 500_000) + "}",
		"digits of a fraction": "a: 0." + strings.Repeat("1", 500_000) + "\n", "dots": "a: " + strings.Repeat(".", 500_000) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			expect.Allocates(t, "refusing it", 8<<20, func() { _, err = exception.Parse([]byte(source), "file") })
			if err == nil || !strings.Contains(err.Error(), "values, lines and separators") && !strings.Contains(err.Error(), "more than 1000 digits") {
				t.Error(err)
			}
		})
	}
	large := "a:\n" + strings.Repeat("- b\n", 10_000)
	expect.Failure(exception.Parse([]byte(large), "file"))(t)                         // a large document is read
	must.Get(exception.NewReader(strings.NewReader(large), "file").Large().Next())(t) // it is the team's own
}

// Exceptions of both groups; internal/kyverno/schema has ones with all fields.
const (
	legacyWhole = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata:\n  name: legacy.example\n  namespace: team-a\n" +
		"  labels: {app.kubernetes.io/name: web, empty: \"\"}\nspec:\n  background: false\n  exceptions:\n" +
		"  - policyName: require-probes\n    ruleNames: [check, autogen-check]\n  match:\n    any:\n    - resources:\n" +
		"        kinds: [Deployment]\n        selector: {matchLabels: {app: web}}\n  conditions:\n    any:\n" +
		"    - key: \"{{ request.object.x }}\"\n      value: [1, 2.5, {deep: [true]}]\n    all: []\n"
	policiesWhole = "apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata:\n  name: cel\n  namespace: team-a\n" +
		"spec:\n  policyRefs:\n  - name: require-probes\n    kind: ValidatingPolicy\n  matchConditions:\n  - name: web\n" +
		"    expression: object.metadata.name == 'web'\n  images: [registry.example/web:1]\n  reportResult: pass\n" +
		"  expiresAt: \"2026-12-31T17:00:00+01:00\"\n  properties: {reason: migration, ticket: T-1, approved-by: bob}\n"
)

var seeds = []string{
	legacyWhole, policiesWhole,
	"a: b\n", "a: b", "---\na: b\n...\n", "# c\n---\na: b\n", "{}", `{"a": [1, 2.5, -0.0, 1e3, null, true, "x"]}`, "{a: {b: [c, {d: e}]}}\n",
	"a: |\n  x\n  y\nb: >-\n  z\n\n  w\n", "a: 'x''y'\nb: \"\\u2028\\n\\x85\"\n", "a: on\n", "a: 0o17\n", "a: 1:30\n", "a: 1_000\n", "a: 007\n", "a: .inf\n", "a: 1.\n", "a: +1\n", "a: -.5e-3\n",
	"a: 2001-01-01\n", "a: 2001-01-01T00:00:00Z\n", "a: ~\nb:\nc: Null\n", "a: =\n", "a: <<\n", "<<: {a: b}\n", "? a\n: b\n", "a:\n- b\n- - c\n  - d\n-\n",
	"a: &x b\nc: *x\n", "a: !!str 1\n", "a: b # c\n", "a:\tb\n", "\ta: b\n", "a: b\r\nc: d\r\n", "\"a\": b\n'c': d\n", "a: {b: , c: }\n", "a: [b, ]\n", "a: 'x\n\n  y'\n", "a: x\n  y\n",
	"%YAML 1.2\n---\na: b\n", "a: b\n---\n", "--- {a: b}\n", "--- a: b\n", "a: --- b\n", "a: |\n  ---\n", "a: |+\n\n\n", "a: 0x1F\nb: 0b1\nc: 1e400\n", "é: ü\n",
	"metadata: {}\n", "metadata:\n  annotations:\n    a: b\n", "metadata:\n  annotations: {a: b}\n", `{"metadata":{"annotations":{"a":"b"}}}`, "metadata:\n  name: x\n",
	"metadata: {\n  name: x\n}\n", "  metadata:\n    name: x\n", "metadata: # c\n  # d\n  name: x\n", "- metadata:\n", "metadata:\r\n  name: x\r\n", "{\n  \"metadata\": {\n    \"name\": \"x\"\n  }\n}\n",
	"a: !<tag:yaml.org,2002:str> b\n", "a: b\n\n\n# end", "[a]", "\"a b\": c", "a: \"b\\\n  c\"", "a: [\n]\n", "#\n#\n---\n#\n---\n{a: b}",
	"a: 9223372036854775807\nb: -9223372036854775808\n", "a: 9223372036854775808\n", "a: 0.1e1\n", "a: 1e15\nb: 123456789012345678.0\n",
	"a: 1e19\nb: [1e19]\nc: {d: [[1e19]]}\ne: -1e19\nf: 1e20\n",
}

// FuzzParse compares Parse with Kubernetes' own reader, and with itself on the canonical form. If
// the two readers differ, the reviewed object is not the applied one.
func FuzzParse(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		d, err := exception.Parse(source, "file")
		if err != nil {
			return
		}
		tree := d.Object()
		must.That(t, bytes.HasSuffix(source, d.Source()) || bytes.Contains(source, d.Source()),
			"the source %q is not part of %q", d.Source(), source)
		whole := d.Source()
		if !bytes.HasSuffix(whole, []byte("\n")) {
			whole = append(whole, '\n') // like kubectl
		}
		asJSON := must.Get(yaml.YAMLToJSONStrict(whole))(t)
		var theirs map[string]any
		must.Do(t, kjson.UnmarshalCaseSensitivePreserveInts(asJSON, &theirs))
		diff := cmp.Diff(wholeAsInteger(theirs), wholeAsInteger(d.Object()))
		must.That(t, diff == "", "%q is read differently (-sigs.k8s.io/yaml +ours):\n%s", source, diff)

		canonical, err := exception.Canonical(tree)
		if separated := separator(tree); (err != nil) != separated {
			t.Fatalf("canonical form of %q: %v, with a line separator: %v", source, err, separated)
		}
		if err != nil || len(canonical) > exception.MaxDocument {
			return
		}
		again := must.Get(exception.Parse(canonical, "canonical"))(t)
		diff = cmp.Diff(wholeAsInteger(d.Object()), wholeAsInteger(again.Object()))
		must.That(t, diff == "", "canonical form %q of %q is another tree (-document +canonical):\n%s", canonical, source, diff)
		twice, err := exception.Canonical(again.Object())
		must.That(t, err == nil && bytes.Equal(canonical, twice),
			"canonical form %q of %q is written as %q the second time (%v)", canonical, source, twice, err)
	})
}

// wholeAsInteger converts whole floats to integers: YAML readers read "1.0" as a float, and
// Kubernetes' conversion to JSON gives 1. internal/kyverno/schema reports them.
func wholeAsInteger(value any) any {
	switch v := value.(type) {
	case map[string]any: // a copy of Document.Object, or read for this test
		for key, item := range v {
			v[key] = wholeAsInteger(item)
		}
	case []any:
		for i, item := range v {
			v[i] = wholeAsInteger(item)
		}
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<63 {
			return int64(v)
		}
	}
	return value
}

// separator reports whether a text or key has a line break that only some YAML readers know.
func separator(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			if separator(key) || separator(item) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, separator)
	case string:
		return strings.ContainsAny(v, "\u0085\u2028\u2029")
	}
	return false
}

// FuzzAdd: Add returns the object with the addition and with every byte of the source, or an error.
func FuzzAdd(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed), "metadata/annotations/polex.dev~expires-at", "2026-06-08T12:00:00Z")
		f.Add([]byte(seed), "a/b", "on")
		f.Add([]byte(seed), "x", "line\nbreak\u2028")
	}
	f.Fuzz(func(t *testing.T, source []byte, path, value string) {
		d, err := exception.Parse(source, "file")
		if err != nil {
			return
		}
		var keys exception.Path
		for _, key := range strings.Split(path, "/") {
			keys = append(keys, strings.ReplaceAll(key, "~", "/"))
		}
		out, err := d.Add(exception.Addition{Path: keys, Value: value})
		if err != nil {
			return
		}
		want := d.Object()
		must.That(t, put(want, keys, value), "%s was added to %q, which has no place for it", keys, source)
		diff := cmp.Diff(want, out.Object())
		must.That(t, diff == "", "%s added to %q (-want +got):\n%s", keys, source, diff)
		must.That(t, inserted(d.Source(), out.Source()),
			"%s added to %q changes other bytes: %q", keys, source, out.Source())
		again := must.Get(exception.Parse(out.Source(), "file"))(t)
		diff = cmp.Diff(want, again.Object())
		must.That(t, diff == "", "%s added to %q and read again (-want +got):\n%s", keys, source, diff)
	})
}

func put(object map[string]any, path exception.Path, value string) bool {
	for _, step := range path[:len(path)-1] {
		next, there := object[step.(string)]
		if !there {
			next = map[string]any{}
			object[step.(string)] = next
		}
		inner, isMapping := next.(map[string]any)
		if !isMapping {
			return false
		}
		object = inner
	}
	last := path[len(path)-1].(string)
	_, there := object[last]
	object[last] = value
	return !there
}

// inserted reports whether after is before with one insertion.
func inserted(before, after []byte) bool {
	head := 0
	for head < len(before) && head < len(after) && before[head] == after[head] {
		head++
	}
	tail := before[head:]
	return len(after) >= len(before) && bytes.HasSuffix(after[head:], tail)
}
