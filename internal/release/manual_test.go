package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestManual: the archive has a man page for each program and completions for four shells, and the
// same commit gives the same bytes.
func TestManual(t *testing.T) {
	when := time.Unix(1700000000, 0)
	var texts []string
	for range 2 {
		files := manual(t.TempDir(), "v1.2.3", when)
		var names []string
		var all strings.Builder
		for _, f := range files {
			names = append(names, f.name)
			all.Write(f.data)
		}
		for _, want := range []string{"completions/_polex", "completions/polex.bash", "completions/polex.fish", "completions/polex.ps1",
			"man/polex.1", "man/polex-verify.1", "man/polex-guard-serve.1", "man/polex-adopt.1"} {
			if !slices.Contains(names, want) {
				t.Errorf("%s is missing in %s", want, names)
			}
		}
		texts = append(texts, all.String())
	}
	if texts[0] != texts[1] {
		t.Error("two runs write different manuals")
	}
	if !strings.Contains(texts[0], ".TH \"POLEX") || !strings.Contains(texts[0], "--only-exceptions") {
		t.Error("the manual does not describe polex-verify --only-exceptions")
	}
}
