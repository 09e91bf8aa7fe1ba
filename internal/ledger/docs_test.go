package ledger_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/ledger"
)

// TestDocs: docs/reference/audit.md names every kind of finding and every state, and no other.
func TestDocs(t *testing.T) {
	raw, err := os.ReadFile("../../docs/reference/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, kind := range ledger.Kinds() {
		if line := fmt.Sprintf("| `%s` | %s |\n", kind, kind.Doc()); !strings.Contains(strings.ReplaceAll(text, "`signed/`", "signed/"), line) {
			t.Errorf("there is no line %q", line)
		}
	}
	for _, state := range ledger.States() {
		if !strings.Contains(text, fmt.Sprintf("\n| `%s` | ", state)) {
			t.Errorf("there is no line for %s", state)
		}
	}
	_, findings, _ := strings.Cut(text, "## Findings")
	findings, _, _ = strings.Cut(findings, "`--fail-on`")
	for _, name := range regexp.MustCompile("\n\\| `([^`]+)` ").FindAllStringSubmatch(findings, -1) {
		if ledger.Kind(name[1]).Doc() == "" {
			t.Errorf("%s is no kind of finding", name[1])
		}
	}
}
