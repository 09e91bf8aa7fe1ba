package doctor_test

import (
	"os"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/guard/doctor"
)

// TestDocumentedReasons: the page of the guard documents every reason.
func TestDocumentedReasons(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/reference/guard.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range doctor.Reasons() {
		if !strings.Contains(string(raw), "`"+reason.Name+"`") {
			t.Errorf("docs/reference/guard.md does not name %q", reason.Name)
		}
	}
}
