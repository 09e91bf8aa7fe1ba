package request

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// TestDocs: the page explains every reason of the command, and no other.
func TestDocs(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "how-to", "request.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(raw), "\n## Results\n")
	if !found {
		t.Fatal("there is no section on results")
	}
	own := []string{reasonDrafted, reasonThere, reasonLive, reasonInTheWay, reasonNoViolations, reasonNote}
	for _, reason := range request.Reasons() {
		own = append(own, reason.Name)
	}
	for _, reason := range own {
		if !strings.Contains(table, "`"+reason+"`") {
			t.Errorf("docs/how-to/request.md does not explain %s", reason)
		}
		if i := slices.IndexFunc(reasons(shape.Config{}), func(r exception.Reason) bool { return r.Name == reason && r.Doc != "" }); i < 0 {
			t.Errorf("%s has no line of its own", reason)
		}
	}
	rows := 0
	for line := range strings.Lines(table) {
		if first, _, isRow := strings.Cut(strings.TrimPrefix(line, "| "), " |"); isRow && strings.HasPrefix(line, "| `") {
			rows += strings.Count(first, "`") / 2
		}
	}
	if rows != len(own) {
		t.Errorf("docs/how-to/request.md explains %d reasons, and there are %d", rows, len(own))
	}
}
