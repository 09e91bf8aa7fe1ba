package pending_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/promote/pending"
)

func TestCheckAttributes(t *testing.T) {
	for answer, want := range map[string]string{
		"": "",
		"unsigned/a.yaml filter unspecified unsigned/a.yaml ident unset":                       "",
		"unsigned/a.yaml filter unspecified unsigned/a.yaml filter lfs":                        "filter (lfs)",
		"unsigned/a.yaml ident set":                                                            "ident (set)",
		"unsigned/a.yaml working-tree-encoding UTF-16":                                         "working-tree-encoding (UTF-16)",
		"unsigned/a.yaml text set unsigned/a.yaml eol crlf":                                    "eol (crlf)",
		"unsigned/a.yaml text unspecified unsigned/a.yaml eol crlf":                            "eol (crlf)", // eol alone also sets text
		"unsigned/a.yaml text unset unsigned/a.yaml eol crlf":                                  "",
		"unsigned/a.yaml text auto unsigned/a.yaml eol lf":                                     "",
		"unsigned/a.yaml text unset unsigned/a.yaml eol crlf b.yaml text auto b.yaml eol crlf": "eol (crlf)",
	} {
		r := pending.CheckAttributes(strings.ReplaceAll(answer, " ", "\x00") + "\x00")
		if (r == nil) != (want == "") || r != nil && !strings.Contains(r.Message, "the attribute "+want+",") {
			t.Errorf("%q: %v, want %q", answer, r, want)
		}
	}
}
