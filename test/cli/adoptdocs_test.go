package cli_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/adopt"
	"github.com/polex-dev/polex/pkg/shape"
)

// TestAdoptDocs: a script runs each command of docs/adopt.md, and the reasons that it explains
// are those that there are.
func TestAdoptDocs(t *testing.T) {
	raw, err := os.ReadFile("../../docs/adopt.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/adopt-docs.txtar")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(raw), -1) {
		for line := range strings.Lines(block[1]) {
			commands++
			if !strings.Contains(string(script), "\nshell '"+strings.TrimSpace(line)+"'\n") {
				t.Errorf("no script runs %q", line)
			}
		}
	}
	if commands < 10 {
		t.Errorf("only %d commands are shown", commands)
	}
	known := map[string]bool{shape.ReasonBadLifetime: true}
	for _, r := range []string{adopt.ReasonNoNamespace, adopt.ReasonVariable, adopt.ReasonSeveral, adopt.ReasonNotRendered, adopt.ReasonTemplate, adopt.ReasonExpired, adopt.ReasonExists, adopt.ReasonUnreadable} {
		known[r] = true
		if !strings.Contains(string(raw), "\n| `"+r+"` | ") {
			t.Errorf("docs/adopt.md does not explain %s", r)
		}
	}
	table, _, _ := strings.Cut(string(raw), "## Choose the expiry")
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| ").FindAllStringSubmatch(table, -1) {
		if !known[row[1]] {
			t.Errorf("there is no reason %s", row[1])
		}
	}
}
