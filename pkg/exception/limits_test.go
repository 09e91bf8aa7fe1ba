package exception_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
)

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
				expect.Value(exception.ParseUndeployed(above, "a.yaml"))(t)
			}
		})
	}
}
