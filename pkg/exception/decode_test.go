package exception_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestDecode: the error for a value of another type names no type of Go, the error for an unknown key has a similar
// known key, and both have their position.
func TestDecode(t *testing.T) {
	type item struct {
		Name    string `json:"name"`
		Folders string `json:"folders" formerly:"directories"`

		_ struct{} `formerly:"lost" instead:"write name"`
	}
	type section struct {
		item
		Items []item            `json:"items"`
		Named map[string]item   `json:"named"`
		Texts map[string]string `json:"texts"`
		Set   bool              `json:"set"`
		Count int               `json:"count"`
		Life  string            `json:"life" format:"duration"`
		Rules []string          `json:"policies" form:"{of} {kind}/{name}"`
		Rest  *item             `json:"rest,omitempty"`

		_ struct{} `formerly:"gone" instead:"write rest"`
	}
	for text, want := range map[string]string{ // the position and the hint, or the message
		"name: 30":         "section.name: expected text, found a number",
		"name: [a]":        "section.name: expected text, found a list",
		"set: a":           "section.set: expected true or false, found text",
		"count: 1.5":       "section.count: expected a whole number, found 1.5",
		"count: {a: 1}":    "section.count: expected a whole number, found keys with values",
		"policies: true":   "section.policies: expected a list, found true or false",
		"texts: a":         "section.texts: expected keys with values, found text",
		"policies: [a, 1]": "section.policies[1]: expected text, found a number",
		"texts: {a: 1}":    "section.texts: expected text, found a number",

		"nam: a":               `2:3 did you mean "name"?`,
		"directories: a":       "2:3 directories is called folders now",
		"gone: {a: b}":         "2:3 write rest",
		"lost: a":              "2:3 write name",
		"rest: {lost: a}":      "2:10 write name",
		"colour: red":          "2:3 the keys are name, folders, items, named, texts, set, count, life, policies, rest",
		"policy: a":            `2:3 did you mean "policies"?`,
		"rest: {nam: a}":       `2:10 did you mean "name"?`,
		"items: [{nam: a}]":    `2:12 did you mean "name"?`,
		"named: {a: {nam: 1}}": `2:15 did you mean "name"?`,
		"name: 1":              "2:3 put it in quotes",
		"policies: [a, {of: b, kind: c, name: d}]": "2:17 write b c/d",
		"policies: [{of: b, name: {a: b}}]":        "2:14 write b {kind}/map[a:b]",
		"life: 30":                                 "2:3 write it with a unit, such as 30d",
		"life: true":                               "2:3 put it in quotes",
		"set: \"true\"":                            "2:3 write true or false, without quotes",
		"count: \"2\"":                             "2:3 remove the quotes",
		"name: [a] # no hint":                      "2:3 ",
		"count: two":                               "2:3 ",
		"items: a":                                 "2:3 write it as a list: [a]",
		"items: {a: 1}":                            "2:3 begin each item with a dash",
		"items: [{}, a]":                           "2:15 the keys are name, folders",
	} {
		doc := must.Get(exception.Parse([]byte("section:\n  "+text+"\n"), "a.yaml"))(t)
		syntax := syntaxError(t, doc.Decode(&section{}, "section"), "", "")
		got := syntax.Position.String()[len("a.yaml:"):] + " " + syntax.Hint
		if strings.HasPrefix(want, "section.") {
			got = syntax.Message
		}
		expect.Is(t, text, want, got)
	}
}

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
			once := must.Get(doc.Add(additions...))(t)
			one := doc
			for i := len(additions) - 1; i >= 0; i-- {
				one = must.Get(one.Add(additions[i]))(t)
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

// readAll lists the documents of a stream as "index line keys", or the error's line.
func readAll(t *testing.T, in io.Reader) []string {
	t.Helper()
	r := exception.NewReader(in, "stream")
	var got []string
	for range 100 {
		d, err := r.Next()
		var syntax *exception.SyntaxError
		switch {
		case errors.Is(err, io.EOF):
			return got
		case errors.As(err, &syntax):
			got = append(got, fmt.Sprintf("refused at %d", syntax.Position.Line))
		case err != nil:
			return append(got, err.Error())
		default:
			got = append(got, fmt.Sprintf("%d at %d: %v", d.Index, d.Position().Line, d.Object()))
		}
	}
	t.Fatal("the stream does not end")
	return nil
}

func TestReader(t *testing.T) {
	for _, tc := range []struct {
		name, source string
		want         []string
	}{
		{"empty", "", nil},
		{"blank", "\n \n", nil},
		{"two", "a: 1\n---\nb: 2\n", []string{"0 at 1: map[a:1]", "1 at 3: map[b:2]"}},
		{"empty ones between", "---\n---\na: 1\n---\n# c\n---\n\n--- # d\nb: 2\n---\n", []string{"0 at 3: map[a:1]", "1 at 9: map[b:2]"}},
		{"carriage returns", "a: 1\r\n---\r\nb: 2\r\n", []string{"0 at 1: map[a:1]", "1 at 3: map[b:2]"}},
		{"end markers", "a: 1\n...\n---\nb: 2\n...\n", []string{"0 at 1: map[a:1]", "1 at 4: map[b:2]"}},
		{"a refused one in the middle", "a: 1\n---\nb: 1\nb: 2\n---\nc: 3\n", []string{"0 at 1: map[a:1]", "refused at 4", "2 at 6: map[c:3]"}},
		{"a marker ends a text in quotes", "a: \"x\n---\nb: 1\n", []string{"refused at 2", "1 at 3: map[b:1]"}},
		{"a marker that is none", "a: 1\n----\nb: 2\n", []string{"refused at 2"}},
		{"an indented marker", "a: |\n ---\n b\n", []string{"0 at 1: map[a:---\nb\n]"}},
		{"a directive stops it", "%YAML 1.2\n---\nb: 2\n", []string{"refused at 1"}},
		{"JSON, one behind the other", "{\"a\":1}{\"b\":2}\n {\"c\":3}", []string{"0 at 1: map[a:1]", "refused at 1"}},
		{"JSON and text", "{\"a\":1}\n---\nb: 2\n", []string{"0 at 1: map[a:1]", "refused at 2"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			expect.Equal(t, "result", tc.want, readAll(t, strings.NewReader(tc.source)))
			expect.Equal(t, "byte by byte", tc.want, readAll(t, iotest.OneByteReader(strings.NewReader(tc.source))))
		})
	}
}

func TestReaderPassesOnErrors(t *testing.T) {
	broken := errors.New("the disk is gone")
	for _, head := range []string{"", "a: 1\n---\n", `{"a": 1} {`} {
		r := exception.NewReader(io.MultiReader(strings.NewReader(head), iotest.ErrReader(broken)), "stream")
		var err error
		for range 5 {
			if _, err = r.Next(); err != nil {
				break
			}
		}
		expect.That(t, errors.Is(err, broken), "behind %q: %v", head, err)
		_, again := r.Next()
		expect.That(t, errors.Is(again, broken), "behind %q, asked again: %v", head, again)
	}
}

// endless is a stream that counts the bytes that are read from it.
type endless struct {
	head, body string
	taken      int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.head)
	e.head = e.head[n:]
	for n < len(p) {
		n += copy(p[n:], e.body)
	}
	e.taken += n
	return n, nil
}

func TestReaderStopsAtTheLimits(t *testing.T) {
	for _, tc := range []struct {
		name, head, body string
		most             int
	}{
		{"one document without an end", "a: ", "x", exception.MaxDocument},
		{"one document of lines", "a: |\n", "  x\n", exception.MaxDocument},
		{"a comment without an end", "# ", "x", exception.MaxDocument},
		{"JSON without an end", "{\"a\": \"", "x", exception.MaxDocument},
		{"JSON that nests without an end", "", "[", exception.MaxDocument},
		{"blank lines", "", "\n", exception.MaxDocument},
		{"space behind JSON", "{}", " ", exception.MaxStream},
		{"many documents", "", "a: 1\n---\n", 10 * exception.MaxDocuments},
		{"many empty documents", "", "---\n", 10 * exception.MaxDocuments},
		{"markers without documents", "", "---\n#" + strings.Repeat("x", 64<<10) + "\n", exception.MaxStream},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.most == exception.MaxStream && testing.Short() {
				t.Skip("-short: a whole stream is read")
			}
			in := &endless{head: tc.head, body: tc.body}
			r := exception.NewReader(in, "stream")
			var syntax *exception.SyntaxError
			for {
				_, err := r.Next()
				if err == nil {
					continue
				}
				if !errors.As(err, &syntax) || !strings.Contains(syntax.Message, "larger than") && !strings.Contains(syntax.Message, "more than 50000 documents") {
					t.Fatalf("%v", err)
				}
				break
			}
			expect.That(t, in.taken <= tc.most+64<<10, "%d bytes were taken, %d are allowed", in.taken, tc.most)
			_, err := r.Next()
			expect.Cause(t, err, io.EOF)
		})
	}
}

func TestParseStopsAtTheLimits(t *testing.T) {
	nested := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.Repeat(" ", i) + "a:\n")
		}
		return b.String()
	}
	for _, tc := range []struct{ name, source, message string }{
		{"larger than a document", "a: " + strings.Repeat("x", exception.MaxDocument), "larger than 512 KiB"},
		{"larger than a document, JSON", `{"a": "` + strings.Repeat("x", exception.MaxDocument) + `"}`, "larger than 512 KiB"},
		{"9000 nested lists", "a: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000), "nested deeper than 64 levels"},
		{"9000 nested lists, JSON", `{"a": ` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}", "nested deeper than 64 levels"},
		{"20000 nested lists", "a: " + strings.Repeat("[", 20000), ""},
		{"100 nested blocks", nested(100), "nested deeper than 64 levels"},
		{"65 nested blocks", nested(64) + strings.Repeat(" ", 64) + "a: b\n", "nested deeper than 64 levels"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := exception.Parse([]byte(tc.source), "file.yaml")
			syntaxError(t, err, "", tc.message)
		})
	}
	mustParse(t, nested(62)+strings.Repeat(" ", 62)+"a: b\n")
	mustParse(t, "a: "+strings.Repeat("x", exception.MaxDocument-4)+"\n")
	mustParse(t, "a: "+strings.Repeat("[", 62)+strings.Repeat("]", 62))
}

// TestIdentities: objects are distinguished by all parts of their identity, without ambiguous
// boundaries, and by nothing else.
func TestIdentities(t *testing.T) {
	var met exception.Identities
	for i, tc := range []struct {
		apiVersion, kind, namespace, name string
		first                             string
	}{
		{"a.b/v1", "Kind", "space", "name", ""},
		{"a.b/v2", "Kind", "space", "name", "0.yaml:1:1"},
		{"a/v1", "Kind", "space", "name", ""},
		{"a.b/v1", "Kin", "dspace", "name", ""},
		{"a.b/v1", "Kind", "spac", "ename", ""},
		{"a.b/v1", "Kind", "", "spacename", ""},
		{"a.b/v1", "Kind", "space", "Name", ""},
		{"v1", "Kind", "space", "name", ""},
		{"v2", "Kind", "space", "name", "7.yaml:1:1"},
	} {
		source := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {namespace: %q, name: %q}\n", tc.apiVersion, tc.kind, tc.namespace, tc.name)
		d := must.Get(exception.Parse([]byte(source), fmt.Sprintf("%d.yaml", i)))(t)
		first, again := met.Add(d)
		expect.That(t, again == (tc.first != "") && first.String() == tc.first, "%d: %s, %v", i, first, again)
	}
}

const (
	recordedOld = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: a, annotations: {polex.dev/recorded-from: api, polex.dev/approved-by: \"WHO\"}}\n"
	recordedNew = "apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {name: a, annotations: {polex.dev/recorded-from: api}}\nspec: {properties: {approved-by: \"WHO\"}}\n"
)

// The approvers of a document are the names in its record, each person once.
func TestApprovals(t *testing.T) {
	for _, tc := range []struct{ name, text, who, want string }{
		{"one", recordedOld, "bob", "bob"},
		{"one, natively", recordedNew, "bob", "bob"},
		{"several", recordedOld, "bob, carol,dave", "bob|carol|dave"},
		{"nobody", recordedOld, "", ""},
		{"nothing between commas", recordedOld, ", ,", ""},
		{"one in two cases", recordedOld, "bob, BOB", "bob"},
		{"one address under two names", recordedOld, "Bob <bob@example.com>, Rob <BOB@example.com>", "Bob <bob@example.com>"},
		{"two addresses under one name", recordedOld, "Bob <bob@example.com>, Bob <bob@example.org>", "Bob <bob@example.com>|Bob <bob@example.org>"},
		{"from nowhere", strings.Replace(recordedOld, "recorded-from: api", "recorded-from: \"\"", 1), "bob", ""},
		{"the annotation of another group", strings.Replace(recordedNew, "from: api", "from: api, polex.dev/approved-by: carol", 1), "bob", "bob"},
	} {
		doc := must.Get(exception.Parse([]byte(strings.Replace(tc.text, "WHO", tc.who, 1)), "a.yaml"))(t)
		expect.Is(t, tc.name, tc.want, strings.Join(doc.Approvals().Names, "|"))
	}
	approved := exception.Approvals{From: "api", Names: []string{"bob", "Carol <carol@example.com>"}}
	for name, want := range map[string]bool{"bob": true, "Bob": true, "bo": false, "carol": false, "C <CAROL@example.com>": true, "": false} {
		expect.Is(t, name, want, approved.Has(name))
	}
}

// TestStatementKeys: a statement under a team's own key counts in every place, but never overrides polex's own key.
func TestStatementKeys(t *testing.T) {
	const legacy, policies = "kyverno.io/v2", "policies.kyverno.io/v1"
	keys := exception.StatementKeys{"reason": {"acme.example/why", "why"}, "ticket": {"jira"}, "owner": {"team"}}
	for name, tc := range map[string]struct {
		api, metadata, spec   string
		reason, ticket, owner string
		path                  string // of the reason
	}{
		"annotation":              {api: legacy, metadata: "annotations: {why: a, jira: T-1, team: x}", reason: "a", ticket: "T-1", owner: "x", path: "metadata.annotations.why"},
		"label":                   {api: legacy, metadata: "labels: {why: a, jira: T-1, team: x}", reason: "a", ticket: "T-1", owner: "x", path: "metadata.labels.why"},
		"property":                {api: policies, spec: "properties: {why: a, jira: T-1, team: x}", reason: "a", ticket: "T-1", owner: "x", path: "spec.properties.why"},
		"kyverno.io has none":     {api: legacy, spec: "properties: {why: a}"},
		"annotation before label": {api: legacy, metadata: "annotations: {why: a}, labels: {why: b}", reason: "a", path: "metadata.annotations.why"},
		"first key first":         {api: legacy, metadata: "annotations: {why: a}, labels: {acme.example/why: b}", reason: "b", path: `metadata.labels["acme.example/why"]`},
		"no text, so the next":    {api: legacy, metadata: "annotations: {acme.example/why: '', why: a}", reason: "a", path: "metadata.annotations.why"},
		"polex's annotation":      {api: legacy, metadata: "annotations: {why: a, polex.dev/reason: b}", reason: "b", path: `metadata.annotations["polex.dev/reason"]`},
		"polex's property":        {api: policies, metadata: "annotations: {why: a}", spec: "properties: {reason: b}", reason: "b", path: "spec.properties.reason"},
		"polex's without a text":  {api: legacy, metadata: "annotations: {why: a, polex.dev/reason: ''}", path: `metadata.annotations["polex.dev/reason"]`},
	} {
		d := mustParse(t, "apiVersion: "+tc.api+"\nkind: PolicyException\nmetadata: {name: a, "+tc.metadata+"}\nspec: {"+tc.spec+"}\n")
		e, _ := d.Exception()
		keys.Fill(e, d)
		expect.That(t, e.Reason.Text == tc.reason && e.Ticket.Text == tc.ticket && e.Owner.Text == tc.owner,
			"%s: %q, %q, %q", name, e.Reason.Text, e.Ticket.Text, e.Owner.Text)
		if tc.path != "" && e.Reason.Path.String() != tc.path {
			t.Errorf("%s: the reason is at %s", name, e.Reason.Path)
		}
	}
}
