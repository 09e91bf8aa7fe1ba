package notify_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/notify"
)

// TestDocs: docs/how-to/audit.md documents every kind of event, and docs/reference/audit.md every field
// of JSON.
func TestDocs(t *testing.T) {
	raw, err := os.ReadFile("../../docs/how-to/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	docs := string(raw)
	if raw, err = os.ReadFile("../../docs/reference/audit.md"); err != nil {
		t.Fatal(err)
	}
	_, fields, found := strings.Cut(string(raw), "\n## Notifications as JSON\n")
	if !found {
		t.Fatal("nothing describes JSON")
	}
	for kind, event := range golden() {
		if !strings.Contains(docs, "| `"+kind+"` |") {
			t.Errorf("%s is not described", kind)
		}
		raw, err := notify.JSON(event)
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal(raw, &value); err != nil {
			t.Fatal(err)
		}
		for _, key := range keys(value) {
			if !strings.Contains(fields, "`"+key+"`") {
				t.Errorf("the field %s is not described", key)
			}
		}
	}
}

func keys(value any) []string {
	var all []string
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			all = append(append(all, key), keys(inner)...)
		}
	case []any:
		for _, inner := range value {
			all = append(all, keys(inner)...)
		}
	}
	return all
}
