package exception_test

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/must"
)

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
