package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPromoteDocs: a script runs each command of docs/how-to/promote.md, and each message that
// docs/reference/promote.md explains exists.
func TestPromoteDocs(t *testing.T) {
	raw, err := os.ReadFile("../../docs/how-to/promote.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/promote-docs.txtar")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(raw), -1) {
		for line := range strings.Lines(block[1]) {
			command, _, _ := strings.Cut(line, " #")
			commands++
			if !strings.Contains(string(script), "\nexits 0 "+strings.TrimSpace(command)+"\n") {
				t.Errorf("no script runs %q", command)
			}
		}
	}
	if commands < 5 {
		t.Errorf("only %d commands are shown", commands)
	}

	if raw, err = os.ReadFile("../../docs/reference/promote.md"); err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, pattern := range []string{"../../internal/git/commit/*.go", "../../internal/promote/*.go", "../../internal/command/sign/*.go", "../../internal/command/commitflags/*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(content)
		}
	}
	messages := 0
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\| ").FindAllStringSubmatch(string(raw), -1) {
		for _, message := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			messages++
			for part := range strings.SplitSeq(message[1], "…") {
				part = strings.TrimSpace(strings.ReplaceAll(part, "index.lock", ""))
				if !strings.Contains(source.String(), part) {
					t.Errorf("nothing says %q", part)
				}
			}
		}
	}
	if messages < 10 {
		t.Errorf("only %d messages are explained", messages)
	}
}
