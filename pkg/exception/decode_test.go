package exception_test

import (
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
)

// TestDecodeTypes: the error for a value of another type names no type of Go.
func TestDecodeTypes(t *testing.T) {
	type section struct {
		Text    string            `json:"text"`
		Set     bool              `json:"set"`
		Count   int               `json:"count"`
		List    []string          `json:"list"`
		Mapping map[string]string `json:"mapping"`
	}
	for text, want := range map[string]string{
		"text: 30":        "section.text: expected text, found a number",
		"text: [a]":       "section.text: expected text, found a list",
		"set: a":          "section.set: expected true or false, found text",
		"count: 1.5":      "section.count: expected a whole number, found 1.5",
		"count: {a: 1}":   "section.count: expected a whole number, found keys with values",
		"list: true":      "section.list: expected a list, found true or false",
		"mapping: a":      "section.mapping: expected keys with values, found text",
		"list: [a, 1]":    "section.list[1]: expected text, found a number",
		"mapping: {a: 1}": "section.mapping: expected text, found a number",
	} {
		doc := expect.Value(exception.Parse([]byte("section:\n  "+text+"\n"), "a.yaml"))(t)
		expect.Is(t, text, want, syntaxError(t, doc.Decode(&section{}, "section"), "", "").Message)
	}
}

// TestDecodeHints: the error for an unknown key has its position and a similar known key.
func TestDecodeHints(t *testing.T) {
	type item struct {
		Name    string `json:"name"`
		Folders string `json:"folders" formerly:"directories"`

		_ struct{} `formerly:"lost" instead:"write name"`
	}
	type section struct {
		item
		Items []item          `json:"items"`
		Named map[string]item `json:"named"`
		Set   bool            `json:"set"`
		Count int             `json:"count"`
		Life  string          `json:"life" format:"duration"`
		Rules []string        `json:"policies" form:"{of} {kind}/{name}"`
		Rest  *item           `json:"rest,omitempty"`

		_ struct{} `formerly:"gone" instead:"write rest"`
	}
	for text, want := range map[string]string{
		"nam: a":               `2:3 did you mean "name"?`,
		"directories: a":       "2:3 directories is called folders now",
		"gone: {a: b}":         "2:3 write rest",
		"lost: a":              "2:3 write name",
		"rest: {lost: a}":      "2:10 write name",
		"colour: red":          "2:3 the keys are name, folders, items, named, set, count, life, policies, rest",
		"policy: a":            `2:3 did you mean "policies"?`,
		"rest: {nam: a}":       `2:10 did you mean "name"?`,
		"items: [{nam: a}]":    `2:12 did you mean "name"?`,
		"named: {a: {nam: 1}}": `2:15 did you mean "name"?`,
		"name: 1":              "2:3 put it in quotes",
		"name: [a]":            "2:3 ",
		"policies: [a, {of: b, kind: c, name: d}]": "2:17 write b c/d",
		"policies: [{of: b, name: {a: b}}]":        "2:14 write b {kind}/map[a:b]",
		"life: 30":                                 "2:3 write it with a unit, such as 30d",
		"life: true":                               "2:3 put it in quotes",
		"set: \"true\"":                            "2:3 write true or false, without quotes",
		"count: \"2\"":                             "2:3 remove the quotes",
		"count: two":                               "2:3 ",
		"items: a":                                 "2:3 write it as a list: [a]",
		"items: {a: 1}":                            "2:3 begin each item with a dash",
		"items: [{}, a]":                           "2:15 the keys are name, folders",
	} {
		doc := expect.Value(exception.Parse([]byte("section:\n  "+text+"\n"), "a.yaml"))(t)
		syntax := syntaxError(t, doc.Decode(&section{}, "section"), "", "")
		at := syntax.Position.String()[len("a.yaml:"):]
		expect.Is(t, text, want, at+" "+syntax.Hint)
	}
}
