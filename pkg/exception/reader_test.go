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
)

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
		if !errors.Is(err, broken) {
			t.Errorf("behind %q: %v", head, err)
		}
		if _, again := r.Next(); !errors.Is(again, broken) {
			t.Errorf("behind %q, asked again: %v", head, again)
		}
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
			if in.taken > tc.most+64<<10 {
				t.Errorf("%d bytes were taken, %d are allowed", in.taken, tc.most)
			}
			if _, err := r.Next(); !errors.Is(err, io.EOF) {
				t.Errorf("asked again: %v", err)
			}
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
