package rules_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestTroubleshooting: docs/troubleshooting.md lists every reason with an anchor, and no other. Each
// message that it quotes is one of polex.
func TestTroubleshooting(t *testing.T) {
	symptoms, table, found := strings.Cut(string(read(t, "docs/troubleshooting.md")), "\n## Every reason\n")
	if !found {
		t.Fatal("there is no table of reasons")
	}
	reasons := map[string]bool{}
	for _, tree := range []string{"internal/adopt", "internal/command", "internal/guard", "internal/pending", "internal/promote", "internal/request", "internal/review", "pkg"} {
		declared, _ := reasonsIn(t, tree)
		for _, value := range declared {
			reasons[strings.Trim(value, `"`)] = true
		}
	}
	for _, name := range []string{"docs/reference/checks.md", "docs/reference/reasons.md"} {
		for _, m := range regexp.MustCompile(`(?m)^\| \[([a-z-]+)\]\(#`).FindAllStringSubmatch(string(read(t, name)), -1) {
			reasons[m[1]] = true
		}
	}
	rows := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| (?:<a id=\"([a-z-]+)\"></a>)?`([a-z-]+)` \\| .+ \\|$").FindAllStringSubmatch(table, -1) {
		if m[1] != m[2] {
			t.Errorf("docs/troubleshooting.md: the anchor of %s is %q", m[2], m[1])
		}
		if rows[m[2]] = true; !reasons[m[2]] {
			t.Errorf("there is no reason %s", m[2])
		}
	}
	for reason := range reasons {
		if !rows[reason] {
			t.Errorf("docs/troubleshooting.md does not list %s", reason)
		}
	}
	if len(rows) < 150 {
		t.Errorf("only %d reasons are listed", len(rows))
	}

	var source strings.Builder
	for _, name := range files(t) {
		if (strings.HasPrefix(name, "internal/") || strings.HasPrefix(name, "pkg/")) && path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") {
			source.Write(read(t, name))
		}
	}
	messages := 0
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \| `).FindAllStringSubmatch(symptoms, -1) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			if !strings.Contains(m[1], " ") {
				continue
			}
			messages++
			for part := range strings.SplitSeq(m[1], "…") {
				if part = strings.Trim(part, ` "`); !strings.Contains(source.String(), part) {
					t.Errorf("docs/troubleshooting.md: no message says %q", part)
				}
			}
		}
	}
	if messages < 15 {
		t.Errorf("only %d messages are quoted", messages)
	}
}
