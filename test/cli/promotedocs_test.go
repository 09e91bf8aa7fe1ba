package cli_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/must"
)

// TestPromoteDocs: a script runs each command of docs/how-to/promote.md. A test of the rules looks for
// the messages of docs/troubleshooting.md.
func TestPromoteDocs(t *testing.T) {
	raw := must.Get(os.ReadFile("../../docs/how-to/promote.md"))(t)
	script := must.Get(os.ReadFile("testdata/promote-docs.txtar"))(t)
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
}
