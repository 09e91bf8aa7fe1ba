package plain_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/polex-dev/polex/internal/plain"
)

// TestWriteJSON: JSON has the same value, and no character that a terminal or a runner interprets.
func TestWriteJSON(t *testing.T) {
	for _, text := range []string{"a\u202eb", "\u0085\u009b31m", "\u007f", "\u2028", "\u00ad", "\U000e0041", "\U0001f600 äöü 漢字", "##[error]x", "a\xffb", "\x1b]0;x\a", "\ufeff", "a\u00a0b"} {
		var b bytes.Buffer
		if err := plain.WriteJSON(&b, map[string]string{text: text}); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsFunc(b.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) || strings.Contains(b.String(), "##[") {
			t.Errorf("%q is written as %q", text, b.String())
		}
		got, valid := map[string]string{}, strings.ToValidUTF8(text, "\ufffd")
		if err := json.Unmarshal(b.Bytes(), &got); err != nil || got[valid] != valid {
			t.Errorf("%q is read back as %q: %v", text, got, err)
		}
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
		if got := plain.Markdown(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
