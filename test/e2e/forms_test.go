//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// forms are ways to write a value. If both accept one, the API server must read the same value as
// polex: a reviewer and a signature see the text, and the cluster uses the value.
var forms = []string{
	"text", "'text'", `"text"`, `"a\tb\u00e9\x41"`, "'it''s'", `"\/"`, "a: b", "a # b", "a#b", "'# a'", "- a", "[a, b]", "{a: b}", "[]", "{}", "''", `""`, "é", "\"\\ud83d\\ude00\"",
	"|\n        a\n        b", "|-\n        a\n        b", "|+\n        a\n\n", ">\n        a\n        b", ">-\n        a\n\n        b", "a\n        b", "'a\n        b'", "\"a \\\n        b\"",
	"true", "True", "TRUE", "tRue", "false", "yes", "No", "on", "off", "y", "n", "~", "null", "Null", "nULL",
	"0", "1", "-1", "+1", "00", "007", "0o17", "0x1F", "0b11", "1_000", "1:30", "1.", ".5", "1.0", "1.5", "-0", "-0.0", "1e3", "1.5e3", "1E+3", "1e", "e3", "0.1", "1e400",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551615", "123456789012345678901234567890", "3.141592653589793238", "1e-7", "100000000000000000000.0",
	".inf", "-.inf", ".nan", "2026-12-31", "2026-12-31T17:00:00Z", "12:30", "1.2.3", "1-2", "<<", "=", "!!str 1", "!!int '1'", "!!binary aGVsbG8=", "!custom a", "&a b", "*a", "@a", "`a`", "%a", "? a", "-a", "--- a", "...",
	"[a, [b, {c: d}]]", "{a: {b: [c]}}", "[a,]", "{a: b,}", "{a, b}", "{'a': 'b', a: c}", "{1: a}", "{true: a}", "{null: a}", "{[a]: b}", "{a: b, <<: {c: d}}", "[1, 1.0, '1', true]",
}

// formSamples puts each form into a free-form value, and each text into an annotation.
func formSamples(t *testing.T) []sample {
	t.Helper()
	var all []sample
	whole := fmt.Sprintf(wholeLegacy, "v2")
	add := func(name, text string) { all = append(all, sample{"form/" + name, []byte(text)}) }
	const free, annotations = "value: [web, 1, 2.5, {deep: [true]}]", "annotations: {polex.dev/reason: no health endpoint}"
	if !strings.Contains(whole, free) || !strings.Contains(whole, annotations) {
		t.Fatal("there is nothing to replace")
	}
	for _, form := range forms {
		add("value "+form, strings.Replace(whole, free, "value: "+form, 1))
		add("list of "+form, strings.Replace(whole, free, "value:\n      - "+form, 1))
		add("annotation "+form, strings.Replace(whole, annotations, "annotations:\n    a: "+form, 1))
	}
	for name, text := range map[string]string{
		"CRLF":                     strings.ReplaceAll(whole, "\n", "\r\n"),
		"byte order mark":          "\ufeff" + whole,
		"marker before":            "---\n" + whole,
		"marker behind":            whole + "---\n",
		"end behind":               whole + "...\n",
		"second document":          whole + "---\n" + whole,
		"comment before":           "# an exception\n" + whole,
		"version directive":        "%YAML 1.1\n---\n" + whole,
		"no newline at the end":    strings.TrimSuffix(whole, "\n"),
		"tab":                      strings.Replace(whole, "  background: false", "\tbackground: false", 1),
		"lone carriage return":     strings.Replace(whole, "background: false", "background: false # a\r  background: true", 1),
		"next line":                strings.Replace(whole, "background: false", "background: false # a\u0085  background: true", 1),
		"line separator":           strings.Replace(whole, "background: false", "background: false # a\u2028  background: true", 1),
		"NUL":                      strings.Replace(whole, "no health", "no\x00health", 1),
		"bell":                     strings.Replace(whole, "no health", "no\ahealth", 1),
		"not UTF-8":                strings.Replace(whole, "no health", "no\xffhealth", 1),
		"key in other case":        strings.Replace(whole, "  background: false", "  Background: true\n  background: false", 1),
		"kind in other case":       strings.Replace(whole, "kind: PolicyException", "Kind: PolicyException", 1),
		"key twice in a list":      strings.Replace(whole, "kinds: [Deployment]", "kinds: [Deployment]\n        kinds: [Pod]", 1),
		"key twice in free form":   strings.Replace(whole, free, "value: {a: b, a: c}", 1),
		"anchor and alias":         strings.Replace(whole, "names: [web]", "names: &n [web]\n        namespaces: *n", 1),
		"merge key":                strings.Replace(whole, "  background: false", "  <<: {background: false}", 1),
		"deep":                     strings.Replace(whole, free, "value: "+strings.Repeat("[", 60)+strings.Repeat("]", 60), 1),
		"very deep":                strings.Replace(whole, free, "value: "+strings.Repeat("[", 9000)+strings.Repeat("]", 9000), 1),
		"as JSON":                  `{"apiVersion":"kyverno.io/v2","kind":"PolicyException","metadata":{"name":"a","namespace":"team-a"},"spec":{"exceptions":[],"match":{}}}`,
		"as JSON, a key twice":     `{"apiVersion":"kyverno.io/v2","kind":"PolicyException","metadata":{"name":"a","name":"a","namespace":"team-a"},"spec":{"exceptions":[{"policyName":"a","ruleNames":["b"]}],"match":{}}}`,
		"as JSON with more behind": `{"apiVersion":"kyverno.io/v2","kind":"PolicyException","metadata":{"name":"a","namespace":"team-a"},"spec":{"exceptions":[{"policyName":"a","ruleNames":["b"]}],"match":{}}} {}`,
	} {
		add(name, text)
	}
	return all
}
