package exception_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"

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
				diff := gocmp.Diff(wholeAsInteger(theirs[i].value), wholeAsInteger(d.Object()))
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
