package rules_test

import (
	"bytes"
	"strings"
	"testing"
)

// TestCore: the code that verifies has fewer lines than the README states.
func TestCore(t *testing.T) {
	const stated = 10_000
	if !strings.Contains(string(read(t, "README.md")), "fewer than 10,000 lines of Go") {
		t.Error("README.md does not state the number of lines")
	}
	lines := 0
	for _, name := range files(t) {
		parts := strings.Split(name, "/")
		if len(parts) < 3 || parts[0] != "pkg" || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		switch parts[1] {
		case "exception", "lifetime", "seal", "trust", "verify":
			lines += bytes.Count(read(t, name), []byte("\n"))
		}
	}
	if lines >= stated || lines < stated/2 {
		t.Errorf("the code that verifies has %d lines", lines)
	}
}
