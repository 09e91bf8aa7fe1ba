package exception_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

func mustParse(t testing.TB, source string) *exception.Document {
	t.Helper()
	return must.Get(exception.Parse([]byte(source), "file.yaml"))(t)
}

// syntaxError expects one at "line:column", "" for any, with a part of its message.
func syntaxError(t testing.TB, err error, where, message string) *exception.SyntaxError {
	t.Helper()
	var syntax *exception.SyntaxError
	must.That(t, errors.As(err, &syntax), "%T: %v, want a syntax error with %q", err, err, message)
	at := fmt.Sprintf("%d:%d", syntax.Position.Line, syntax.Position.Column)
	expect.That(t, (where == "" || at == where) && strings.Contains(syntax.Message, message),
		"at %s: %v, want %q at %s", at, err, message, where)
	return syntax
}

func TestParseReads(t *testing.T) {
	const otherwise = "read otherwise, or not at all, by kustomize: "
	type m = map[string]any
	type l = []any
	for _, tc := range []struct {
		name, source string
		want         m // nil: refused
	}{
		{"no newline at the end", "a: b", m{"a": "b"}},
		{otherwise + "a block text without a newline at the end, which kubectl adds", "a: |\n  b\nc: |\n  prod", m{"a": "b\n", "c": "prod\n"}},
		{otherwise + "a folded text without a newline at the end", "c: >\n  prod", m{"c": "prod\n"}},
		{"carriage returns", "a: b\r\nc:\r\n- d\r\n", m{"a": "b", "c": l{"d"}}},
		{"a marker above", "---\na: b\n", m{"a": "b"}},
		{"a marker with a comment behind it", "--- # x\na: b\n", m{"a": "b"}},
		{"markers without a document", "---\n# nothing\n---\na: b\n---\n", m{"a": "b"}},
		{"an end marker", "a: b\n...\n", m{"a": "b"}},
		{"comments around", "# x\n\na: b # y\n# z\n", m{"a": "b"}},
		{"comments above the marker", "# x\n---\na: b\n", m{"a": "b"}},
		{"what looks like a marker", "a: ---\nb: |\n  ---\n  ...\n", m{"a": "---", "b": "---\n...\n"}},
		{"explicit keys", "? a\n: b\n", m{"a": "b"}},
		{"an empty mapping", "{}", m{}},
		{"nothing is null", "a:\nb: ~\nc: null\n", m{"a": nil, "b": nil, "c": nil}},
		{"integers", "a: 0\nb: -1\nc: 9223372036854775807\nd: -9223372036854775808\n", m{"a": int64(0), "b": int64(-1), "c": int64(9223372036854775807), "d": int64(-9223372036854775808)}},
		{"floats", "a: 1.5\nb: -0.25\nc: 1e3\nd: .5\n", m{"a": 1.5, "b": -0.25, "c": 1000.0, "d": 0.5}},
		{"booleans", "a: true\nb: False\n", m{"a": true, "b": false}},
		{"quotes make text", "a: \"on\"\nb: '007'\nc: \"1:30\"\nd: 'null'\ne: \"~\"\n", m{"a": "on", "b": "007", "c": "1:30", "d": "null", "e": "~"}},
		{"blocks make text", "a: |-\n  on\nb: >-\n  007\n", m{"a": "on", "b": "007"}},
		{otherwise + "what only resembles a number", "a: 1.2.3\nb: v1\nc: 10m\nd: 1-2\ne: 0xZZ\nf: 7d\ng: 2001-01-01\nh: 0b1765e8\ni: 0o89\n", m{"a": "1.2.3", "b": "v1", "c": "10m", "d": "1-2", "e": "0xZZ", "f": "7d", "g": "2001-01-01", "h": "0b1765e8", "i": "0o89"}},
		{"escapes may write what may not stand there", `a: "\u2028\r\0"`, m{"a": "\u2028\r\x00"}},
		{"keys beyond ASCII", "ü: é\n", m{"ü": "é"}},
		{"keys that differ in case", "a: 1\nA: 2\n", m{"a": int64(1), "A": int64(2)}},
		{"JSON", `{"a": [1, 1.5, true, null, "x\n"], "b": {}}`, m{"a": l{int64(1), 1.5, true, nil, "x\n"}, "b": m{}}},
		{otherwise + "JSON with space around it", "\n\t {\"a\": 1}\r\n ", m{"a": int64(1)}},
		{"JSON with brackets in text", `{"a": "}]\"{"}`, m{"a": "}]\"{"}},
		{"flow style", "{a: b, c: [d, {e: f}]}", nil}, // begins like JSON and is not JSON
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, err := exception.ParseUndeployed([]byte(tc.source), "file.yaml")
			if tc.want == nil {
				expect.Failure(d, err)(t)
				return
			}
			must.Do(t, err)
			expect.Equal(t, "result", tc.want, d.Object())
			deployed, err := exception.Parse([]byte(tc.source), "file.yaml")
			if kustomizes := strings.HasPrefix(tc.name, otherwise); kustomizes != (err != nil && strings.Contains(err.Error(), "kustomize")) {
				t.Errorf("kustomize reads it otherwise: %t; %v", kustomizes, err)
			} else if err == nil && !cmp.Equal(tc.want, deployed.Object()) {
				t.Errorf("it is deployed as %v", deployed.Object())
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, source string
		where        string // line:column
		message      string // part of it
	}{
		{"nothing", "", "1:1", "no document"},
		{"only comments", "# x\n---\n# y\n", "1:1", "no document"},
		{"a list", "- a\n", "1:1", "must consist of keys with values"},
		{"a text", "hello\n", "1:1", "must consist of keys with values"},
		{"two documents", "a: b\n---\nc: d\n", "3:1", "second document"},
		{"a document behind an end marker", "a: b\n...\nc: d\n", "", "not valid YAML"},
		{"a document behind an empty one", "---\n...\nc: d\n", "", "not valid YAML"},
		{"duplicate key", "a: 1\nb: 2\na: 3\n", "3:1", `the key "a" is already set on line 1`},
		{"duplicate key below", "a:\n  b: 1\n  \"b\": 2\n", "3:3", `the key "b" is already set on line 2`},
		{"duplicate key in flow", "a: {b: 1, b: 2}\n", "1:11", `the key "b"`},
		{"alias", "a: &x b\nc: *x\n", "1:4", "anchor &x"},
		{"anchor nobody uses", "a: &x\n  b: c\n", "1:4", "anchor &x"},
		{"anchor on a key", "&x a: b\n", "1:1", "anchor"},
		{"alias to nothing", "a: b\nc: *x\n", "2:1", "not valid YAML: a value begins with *"},
		{"tag", "a: !!str 1\n", "1:4", `the tag "!!str"`},
		{"tag of one's own", "a: !x b\n", "1:4", `the tag "!x"`},
		{"bare tag", "a: ! 1\n", "1:4", `the tag "!"`},
		{"bare tag on nothing", "a: !\n", "1:4", `the tag "!"`},
		{"bare tag on a mapping", "a: !\n  b: c\n", "1:4", `the tag "!"`},
		{"bare tag on a key", "! a: b\n", "1:1", "tag"},
		{"tag on a key", "!!str a: b\n", "1:1", "tag"},
		{"merge key", "<<: {a: b}\n", "1:1", "merge key"},
		{"merge key as a value", "a: <<\n", "1:4", "merge key"},
		{"key that is a number", "1: a\n", "1:1", `the key "1" is not text`},
		{"key that is null", "~: a\n", "1:1", "is not text"},
		{"key that is a list", "? [a]\n: b\n", "1:3", "a key must be text"},
		{"directive", "%YAML 1.2\n---\na: b\n", "1:1", "directive"},
		{"directive below", "a: b\n...\n%TAG ! x\n---\nc: d\n", "", ""},
		{"directive inside", "a: b\n%TAG ! x\n", "", "not valid YAML"},
		{"byte order mark", "\ufeffa: b\n", "1:1", "byte order mark"},
		{"byte order mark inside", "a: b\ufeff\n", "1:5", "byte order mark"},
		{"NUL", "a: b\x00\n", "1:5", "control character U+0000"},
		{"escape sequence", "a: \x1b[31m\n", "1:4", "control character U+001B"},
		{"DEL", "a: \x7f\n", "1:4", "control character U+007F"},
		{"not UTF-8", "a: \xff\n", "1:4", "not UTF-8"},
		{"half a character", "a: \xc3\n", "1:4", "not UTF-8"},
		{"a surrogate", "a: \xed\xa0\x80\n", "1:4", "not UTF-8"},
		{"UTF-16", "a\x00:\x00 \x00b\x00\n\x00", "1:2", "control character"},
		{"lone carriage return", "a: b\rc: d\n", "1:5", "carriage return"},
		{"carriage return at the end", "a: b\r", "1:5", "carriage return"},
		{"line separator", "a: b\u2028c: d\n", "1:5", "line separator U+2028"},
		{"paragraph separator", "a: b\u2029c: d\n", "1:5", "line separator U+2029"},
		{"next line", "a: b\u0085c: d\n", "1:5", "line separator U+0085"},
		{"a line separator in a comment", "a: b # \u2028x: y\n", "1:8", "line separator U+2028"},
		{"column counts characters", "ä: \"ö\x01\"\n", "1:6", "control character U+0001"},
		{"a key in another column", "a:\n    b: c\n  d: e\n", "3:1", "is not indented as its neighbours are"},
		{"a key in a list", "a:\n  - b\n  c: d\n", "2:1", "a list begins here"},
		{"an open list", "a: b\nc: [d\n", "2:1", `has no "]"`},
		{"an open mapping", "a: b\nc: {d: e\n", "2:1", `have no "}"`},
		{"an open bracket", "a: b\nc: [\n", "2:1", "a value is missing, or a bracket is open"},
		{"an open quotation", "a: b\nc: \"d\n", "2:1", "a quotation mark has no counterpart"},
		{"two colons", "a: b\nc: d: e\n", "2:1", "a second colon in one line"},
		{"a list behind a key", "a: b\nc: - d\n", "2:1", "a list begins where none is expected"},
		{"no colon", "a: b\nc\n", "2:1", "a line is not a key with a colon"},
		{"a star", "a: b\nc: *\n", "2:1", "a value begins with * or &"},
		{"an at sign", "a: b\nc: @d\n", "2:1", "a value begins with a reserved character"},
		{"tab for indentation", "a:\n\tb: c\n", "2:1", "not valid YAML: a tab indents this line"},
		{"tab elsewhere", "a: b\n c:\td\n", "", "not valid YAML"},
		{"Helm template", "{{- if .Values.a }}\na: b\n{{- end }}\n", "1:1", "looks like a Helm template"},
		{"Helm template with a value", "a: {{ .Values.a }}\n", "1:5", "looks like a Helm template"},
		{"Helm template with a block", "a: b\n{{- include \"a\" . | nindent 2 }}\n", "2:1", "looks like a Helm template"},
		{"broken YAML", "a: b\nc: [\n", "", "not valid YAML"},
		{"broken YAML below a marker", "---\na: b\n c: d\n", "", "not valid YAML"},
		{"on", "a: on\n", "1:4", "is a boolean in YAML 1.1"},
		{"n", "a:\n- n\n", "2:3", "is a boolean in YAML 1.1"},
		{"Yes as a key", "Yes: a\n", "1:1", "is a boolean in YAML 1.1"},
		{"oFF", "a: oFF\n", "1:4", "is a boolean in YAML 1.1"},
		{"tRUE", "a: tRUE\n", "1:4", "is a boolean in YAML 1.1"},
		{"octal of 1.2", "a: 0o17\n", "1:4", "the number 15"},
		{"octal of 1.1", "a: 007\n", "1:4", "the number 7"},
		{"decimal with a zero before it", "a: 08.5\n", "1:4", "the number 8.5"},
		{"hexadecimal", "a: 0x1F\n", "1:4", "the number 31"},
		{"binary", "a: 0b11\n", "1:4", "the number 3"},
		{"base 60", "a: 1:30\n", "1:4", "base 60"},
		{"base 60 with a fraction", "a: 1:30.5\n", "1:4", "base 60"},
		{"underscores", "a: 1_000\n", "1:4", "the number 1000"},
		{"infinity", "a: .inf\n", "1:4", "is not a number"},
		{"not a number", "a: .NaN\n", "1:4", "is not a number"},
		{"a document behind a marker", "--- {a: b}\n", "1:1", "separates documents"},
		{"integer too large", "a: 9223372036854775808\n", "1:4", "does not fit"},
		{"float too large", "a: 1e400\n", "1:4", "does not fit"},
		{"JSON: list", `[{"a": 1}]`, "1:1", "must consist of keys with values"},
		{"JSON: duplicate key", "{\"a\": 1,\n \"a\": 2}", "2:2", `the key "a" is already set on line 1`},
		{"JSON: duplicate key, escaped", `{"a": 1, "\u0061": 2}`, "1:10", `the key "a"`},
		{"JSON: integer too large", `{"a": 9223372036854775808}`, "1:7", "does not fit"},
		{"JSON: float too large", `{"a": 1e400}`, "1:7", "does not fit"},
		{"JSON: text behind it", `{"a": 1} x`, "1:10", "not valid JSON"},
		{"JSON: text behind it, in columns of characters", `{"ä": 1} x`, "1:10", "not valid JSON"},
		{"JSON: a second one", "{\"a\": 1}\n{\"b\": 2}", "2:1", "second document"},
		{"JSON: cut off", `{"a": {"b": 1}`, "1:1", "the document is incomplete"},
		{"JSON: cut off in a text", `{"a": "b`, "1:1", "the document is incomplete"},
		{"JSON: comment", "{\"a\": 1 // x\n}", "", "not valid JSON"},
		{"JSON: comma at the end", `{"a": 1,}`, "", "not valid JSON"},
		{"JSON: brackets that do not pair", `{"a": [1}]`, "", "not valid JSON"},
		{"JSON: bare key", `{a: 1}`, "1:2", "not valid JSON"},
		{"JSON: not a number", `{"a": NaN}`, "1:7", "not valid JSON"},
		{"JSON: newline in a text", "{\"a\": \"x\ny\"}", "", "not valid JSON"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := exception.Parse([]byte(tc.source), "file.yaml")
			at := syntaxError(t, err, tc.where, tc.message).Position
			expect.That(t, at.File == "file.yaml" && at.Line >= 1 && at.Column >= 1, "at %s: %v", at, err)
		})
	}
}

func TestPositions(t *testing.T) {
	for _, tc := range []struct {
		name, source string
		path         exception.Path
		want         string
	}{
		{"a key", "a: 1\nb:\n  c: 2\n", exception.Path{"b", "c"}, "3:3"},
		{"an item", "a:\n- b\n-  c\n", exception.Path{"a", 1}, "3:4"},
		{"a key in an item", "a:\n- b: 1\n  c: 2\n", exception.Path{"a", 0, "c"}, "3:3"},
		{"flow", "a: {ä: 1, b: [c, d]}\n", exception.Path{"a", "b", 1}, "1:18"},
		{"further than it leads", "a:\n  b: 1\n", exception.Path{"a", "x", "y"}, "1:1"},
		{"nothing of it", "# c\na: 1\n", exception.Path{"x"}, "2:1"},
		{"below comments and a marker", "# c\n---\n# d\na: 1\n", exception.Path{"a"}, "4:1"},
		{"JSON", "\n {\"ä\": {\n\"b\": [1, 2]}}", exception.Path{"ä", "b", 1}, "3:10"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			at := mustParse(t, tc.source).PositionOf(tc.path)
			expect.Is(t, "result", tc.want, fmt.Sprintf("%d:%d", at.Line, at.Column))
		})
	}
}

// TestLimitsOfTexts: texts that cost the readers of YAML most have a limit, and those at the limit are read.
func TestLimitsOfTexts(t *testing.T) {
	list := func(item string, n int) string { return "[" + strings.Repeat(item+",", n) + "1]" }
	for _, tc := range []struct{ name, below, above, message string }{
		{"words", strings.Repeat("x ", 99_990), strings.Repeat("x ", 100_001), "more than 100000 words"},
		{"escapes", `"` + strings.Repeat(`\x41`, 99_990) + `"`, `"` + strings.Repeat(`\x41`, 100_001) + `"`, "more than 100000 words, backslashes"},
		{"doubled quotes", `'` + strings.Repeat(`''`, 49_990) + `'`, `'` + strings.Repeat(`''`, 50_001) + `'`, "more than 100000 words, backslashes and quotes"},
		{"long numbers", list(strings.Repeat("1", 932)+"x", 72), list(strings.Repeat("1", 932)+"x", 73), "many long rows"},
		{"a text in doubt", `"` + strings.Repeat("é", 81_000) + `"`, `"` + strings.Repeat("é", 82_500) + `"`, "more than 160 KiB"},
		{"words in doubt", strings.Repeat("é ", 8_560), strings.Repeat("é ", 8_700), "a word as 16"},
		{"numbers in doubt", list("1e5", 1232), list("1e5", 1250), "a value or line counts as 128 bytes"},
		{"a text without a doubt", `"` + strings.Repeat("e", 280_000) + `"`, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mustParse(t, "x: "+tc.below+"\n")
			if tc.above == "" {
				return
			}
			above := []byte("x: " + tc.above + "\n")
			_, err := exception.Parse(above, "a.yaml")
			syntaxError(t, err, "", tc.message)
			if strings.Contains(tc.name, "doubt") { // kustomize never reads it
				must.Get(exception.ParseUndeployed(above, "a.yaml"))(t)
			}
		})
	}
}

// TestParseTime: exactly RFC 3339, and no time that is Go's zero time.
func TestParseTime(t *testing.T) {
	for _, text := range []string{
		"2026-12-31T17:00:00Z", "2026-12-31T17:00:00.5Z", "2026-12-31T17:00:00.123456789+23:59", "2026-12-31T00:00:00-00:00", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
	} {
		got, err := exception.ParseTime(text)
		want, wantErr := time.Parse(time.RFC3339, text)
		expect.That(t, err == nil && wantErr == nil && got.Equal(want) && !got.IsZero(), "%s: %s, %v", text, got, err)
	}
	for _, text := range []string{
		"2026-12-31T7:00:00Z", "2026-12-31T17:00:00,5Z", "2026-12-31T17:00:00+24:00", "2026-12-31T17:00:00+23:60", "2026-12-31T17:00:00-99:00",
		"2026-12-31T17:00:00+01", "2026-12-31T17:00:00+0100", "2026-12-31T17:00:00.Z", "2026-12-31T24:00:00Z", "2026-12-31T17:00:60Z", "2026-12-31 17:00:00Z",
		"2026-12-31t17:00:00z", "2026-12-31T17:00Z", "2026-1-31T17:00:00Z", "26-12-31T17:00:00Z", "10000-01-01T00:00:00Z", " 2026-12-31T17:00:00Z", "2026-12-31T17:00:00Z\n",
		"", "never", "0001-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "0001-01-01T02:00:00+02:00", "1969-12-31T23:59:59.999999999Z",
	} {
		got, err := exception.ParseTime(text)
		expect.That(t, err != nil && got.IsZero(), "%q: %s, %v", text, got, err)
	}
}

// FuzzParseTime: a valid time is never Go's zero time, and less strict readers read the same time.
func FuzzParseTime(f *testing.F) {
	for _, text := range []string{"2026-12-31T17:00:00Z", "2026-12-31T7:00:00Z", "2026-12-31T17:00:00,5Z", "2026-12-31T17:00:00+24:00", "0001-01-01T00:00:00Z"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := exception.ParseTime(text)
		if err != nil {
			return
		}
		if loose, err := time.Parse(time.RFC3339, text); err != nil || !loose.Equal(got) || got.IsZero() {
			t.Errorf("%q: %s, and to others %s, %v", text, got, loose, err)
		}
	})
}

// TestAliases: a reader that accepts anchors and merge keys reads the same values as kubectl, and
// rejects documents for which they differ. Any other reader rejects anchors and merge keys.
func TestAliases(t *testing.T) {
	for text, want := range map[string]any{
		"a: &a {x: 1}\nb: *a\n":                                 map[string]any{"a": map[string]any{"x": int64(1)}, "b": map[string]any{"x": int64(1)}},
		"a: &a {x: 1}\nb:\n  <<: *a\n  x: 2\n":                  map[string]any{"a": map[string]any{"x": int64(1)}, "b": map[string]any{"x": int64(2)}},
		"a: &a {x: 1}\nc: &c {x: 2, z: 3}\nb: {<<: [*a, *c]}\n": map[string]any{"a": map[string]any{"x": int64(1)}, "c": map[string]any{"x": int64(2), "z": int64(3)}, "b": map[string]any{"x": int64(1), "z": int64(3)}},
		"a: [&a Pod, *a]\n":                                     map[string]any{"a": []any{"Pod", "Pod"}},
		"a: &a {x: 1}\nb:\n  x: 2\n  <<: *a\n":                  nil, // x is 1 in kubectl
		"a: &a {x: 1}\nb: {<<: *a, x: 2, x: 3}\n":               nil,
		"a: &a [*a]\n":                                          nil,
		"a: &a {b: {<<: *a}}\n":                                 nil,
		"a: &a Pod\nb: {<<: *a}\n":                              nil,
		"a: &a {x: 1}\nb: {<<: *missing}\n":                     nil,
		"a: &a key\n*a : b\n":                                   nil,
		"a: &a " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "\nb: " + strings.Repeat("[", 40) + "*a" + strings.Repeat("]", 40) + "\n": nil,
	} {
		doc, err := exception.NewReader(strings.NewReader(text), "a.yaml").Aliases().Next()
		expect.That(t, (err == nil) == (want != nil) && (err != nil || reflect.DeepEqual(any(doc.Object()), want)),
			"%.80s: %v %v", text, doc, err)
		expect.Failure(exception.Parse([]byte(text), "a.yaml"))(t) // no alias is allowed there
	}
}

// TestAliasesAreBounded: a few lines with a billion values are rejected before aliases are written out.
func TestAliasesAreBounded(t *testing.T) {
	var laughs, wide, merged strings.Builder
	laughs.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	merged.WriteString("a0: &a0 {x: [x, x, x, x, x, x, x, x, x, x]}\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&laughs, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), i-1)
		fmt.Fprintf(&merged, "a%d: &a%d\n", i, i)
		for j := range 10 {
			fmt.Fprintf(&merged, "  k%d: {<<: *a%d}\n", j, i-1)
		}
	}
	wide.WriteString("a: &a [" + strings.Repeat("x, ", 100_000) + "x]\nb: [" + strings.Repeat("*a, ", 20_000) + "*a]\n")
	long := strings.Repeat("x", 500_000)
	for name, text := range map[string]string{
		"laughs": laughs.String(), "merged": merged.String(), "wide": wide.String(),
		"a long text": "a: &a " + long + "\nb: [" + strings.Repeat("*a, ", 5_000) + "*a]\n",
		"a long key":  "a: &a\n  ? " + long + "\n  : 1\nb: [" + strings.Repeat("*a, ", 5_000) + "*a]\n",
	} {
		reader := exception.NewReader(strings.NewReader(text), "a.yaml").Large().Aliases()
		var err error
		expect.Allocates(t, name, 200<<20, func() { _, err = reader.Next() })
		expect.Error(t, err, "when its aliases are written out")
	}
}
