package exception_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
)

// Several additions in one call give the same text as single calls, the last one first.
func TestAddSeveral(t *testing.T) {
	annotation := func(name, value string) exception.Addition {
		return exception.Addition{Path: exception.Path{"metadata", "annotations", name}, Value: value}
	}
	additions := []exception.Addition{annotation("one", "first"), {Path: exception.Path{"metadata", "namespace"}, Value: "team-a"},
		annotation("two", "2"), annotation("three", "third: quoted"), annotation("four", strings.Repeat("long", 2000))}
	for name, text := range map[string]string{
		"block style":             "kind: PolicyException\nmetadata:\n  name: a # why\n  annotations:\n    old: \"1\"\nspec: {}\n",
		"windows":                 "kind: PolicyException\r\nmetadata:\r\n  name: a\r\n  annotations:\r\n    old: \"1\"\r\n",
		"no annotations yet":      "kind: PolicyException\nmetadata:\n  name: a\n",
		"flow style":              "---\n{kind: PolicyException, metadata: {name: a, annotations: {old: \"1\"}}}\n",
		"flow style, nothing yet": "---\n{kind: PolicyException, metadata: {name: a, annotations: {}}}\n",
		"flow within block style": "kind: PolicyException\nmetadata:\n  name: a\n  annotations: {old: \"1\"}\n",
		"pretty printed JSON":     "{\n  \"kind\": \"PolicyException\",\n  \"metadata\": {\n    \"name\": \"a\",\n    \"annotations\": {\n      \"old\": \"1\"\n    }\n  }\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			doc := mustParse(t, text)
			once := expect.Value(doc.Add(additions...))(t)
			one := doc
			for i := len(additions) - 1; i >= 0; i-- {
				one = expect.Value(one.Add(additions[i]))(t)
			}
			expect.Equal(t, "at once (-one by one +at once)", string(one.Source()), string(once.Source()))
			for _, a := range additions {
				expect.Is(t, a.Path.String(), a.Value, once.Text(a.Path...))
			}
		})
	}
}

func TestAddRefuses(t *testing.T) {
	doc := mustParse(t, "kind: PolicyException\nmetadata:\n  name: a\n  annotations:\n    old: \"1\"\n")
	at := func(steps ...any) exception.Addition { return exception.Addition{Path: steps, Value: "x"} }
	for name, additions := range map[string][]exception.Addition{
		"a key that exists":           {at("metadata", "name")},
		"one of several":              {at("metadata", "annotations", "new"), at("metadata", "annotations", "old")},
		"the same twice":              {at("metadata", "annotations", "new"), at("metadata", "annotations", "new")},
		"a place in no list":          {at("metadata", "annotations", 0)},
		"a place in no list, and key": {at("metadata", "annotations", 0), at("metadata", "annotations", "new")},
		"below a text":                {at("kind", "new")},
	} {
		t.Run(name, func(t *testing.T) { expect.Failure(doc.Add(additions...))(t) })
	}
}
