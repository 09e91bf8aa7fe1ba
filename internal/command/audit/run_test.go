package audit

import (
	"testing"
	"time"
)

func TestAt(t *testing.T) {
	for text, want := range map[string]string{
		"2026-09-30":                "2026-09-30T23:59:59Z",
		"2026-09-30T10:00:00Z":      "2026-09-30T10:00:00Z",
		"2026-09-30T01:00:00+02:00": "2026-09-29T23:00:00Z",
		"2026-9-30":                 "",
		"2026-09-30T10:00:00":       "", // no time zone
		"2026-02-30":                "",
		"":                          "",
	} {
		at, err := parseAt(text)
		if (err != nil) != (want == "") || err == nil && at.Format(time.RFC3339) != want {
			t.Errorf("%q is %s, %v", text, at.Format(time.RFC3339), err)
		}
	}
}
