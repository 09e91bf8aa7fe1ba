package plain_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestWriteJSON: JSON has the same value, and no character that a terminal or a runner interprets.
func TestWriteJSON(t *testing.T) {
	for _, text := range []string{"a\u202eb", "\u0085\u009b31m", "\u007f", "\u2028", "\u00ad", "\U000e0041", "\U0001f600 äöü 漢字", "##[error]x", "a\xffb", "\x1b]0;x\a", "\ufeff", "a\u00a0b"} {
		var b bytes.Buffer
		must.Do(t, plain.WriteJSON(&b, map[string]string{text: text}))
		if strings.ContainsFunc(b.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) || strings.Contains(b.String(), "##[") {
			t.Errorf("%q is written as %q", text, b.String())
		}
		got, valid := map[string]string{}, strings.ToValidUTF8(text, "\ufffd")
		err := json.Unmarshal(b.Bytes(), &got)
		expect.That(t, err == nil && got[valid] == valid, "%q is read back as %q: %v", text, got, err)
	}
}

// TestMarkdown: no text begins a link, a mention or a reference in GitHub Flavored Markdown.
func TestMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"www.evil.example":     "www&#46;evil.example",
		"WWW.evil.example":     "WWW&#46;evil.example",
		"https://evil.example": "https&#58;//evil.example",
		"ask @team":            "ask &#64;<!-- -->team",
		"a@evil.example":       "a&#64;<!-- -->evil.example",
		"acme/x#12":            "acme/x&#35;<!-- -->12",
		"[a](b)":               "&#91;a&#93;&#40;b&#41;",
	} {
		expect.Is(t, fmt.Sprintf("%q", text), want, plain.Markdown(text))
	}
}

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		text string
		most int
		want string
	}{{"äöü", 3, "äöü"}, {"äöüß", 3, "äö…"}, {"abc", 1, "…"}, {"abc", -4, "…"}, {"", 0, ""}} {
		expect.Is(t, fmt.Sprintf("%q in %d", tc.text, tc.most), tc.want, plain.Cut(tc.text, tc.most))
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 2: "2 files"} {
		expect.Is(t, "result", want, plain.Count(n, "file", "files"))
	}
}
