package ledger

import (
	"encoding/json"
	"testing"
	"time"
)

// TestTimes: every time of a document or a commit can be written to the report.
func TestTimes(t *testing.T) {
	for text, want := range map[string]string{
		"2026-11-22T13:00:00.9+01:00": `"2026-11-22T12:00:00Z"`,
		"9999-12-31T23:59:59-23:59":   `"0001-01-01T00:00:00Z"`, // in UTC, the year is 10000
	} {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(inUTC(at))
		if err != nil || string(raw) != want {
			t.Errorf("%s: %s, %v", text, raw, err)
		}
	}
}
