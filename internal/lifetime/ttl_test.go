package lifetime_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
)

// labelled is an exception with Kyverno's label.
func labelled(t *testing.T, group, annotations, spec, ttl string) *exception.Exception {
	t.Helper()
	apiVersion := map[string]string{"old": "kyverno.io/v2", "new": "policies.kyverno.io/v1"}[group]
	text := fmt.Sprintf("apiVersion: %s\nkind: PolicyException\nmetadata:\n  name: a\n  labels: {cleanup.kyverno.io/ttl: %q}\n  annotations: {%s}\nspec: {%s}\n",
		apiVersion, ttl, annotations, spec)
	doc, err := exception.Parse([]byte(text), "test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	e, ok := doc.Exception()
	if !ok {
		t.Fatal("not an exception")
	}
	return e
}

// TestTTL: the label says when the exception ends, or nothing may hang on it.
func TestTTL(t *testing.T) {
	const label = `metadata.labels["cleanup.kyverno.io/ttl"]`
	at := func(text string) string { return fmt.Sprintf("polex.dev/expires-at: %q", text) }
	for _, tc := range []struct{ name, group, annotations, spec, ttl, wrong string }{
		{"the end", "old", at("2026-12-31T17:00:00Z"), "", "2026-12-31T170000Z", ""},
		{"the native end", "new", "", `expiresAt: "2026-12-31T17:00:00Z"`, "2026-12-31T170000Z", ""},
		{"the end in another zone", "old", at("2027-01-01T02:00:00+09:00"), "", "2026-12-31T170000Z", ""},
		{"midnight as a day", "old", at("2028-02-29T00:00:00Z"), "", "2028-02-29", ""},
		{"midnight elsewhere as a day", "old", at("2028-02-29T00:00:00+01:00"), "", "2028-02-29", label},
		{"a part of a second later", "old", at("2026-12-31T16:59:59.5Z"), "", "2026-12-31T170000Z", ""},
		{"a part of a second earlier", "old", at("2026-12-31T17:00:00.5Z"), "", "2026-12-31T170000Z", label},
		{"later", "old", at("2026-12-31T17:00:00Z"), "", "2026-12-31T170001Z", label},
		{"earlier, for the other group", "new", "", `expiresAt: "2026-12-31T17:00:00Z"`, "2026-12-31T165959Z", label},
		{"the hour of another zone", "old", at("2026-12-31T17:00:00+02:00"), "", "2026-12-31T170000Z", label},
		{"a year later", "old", at("2026-12-31T17:00:00Z"), "", "2027-12-31T170000Z", label},
		{"a duration beside an end", "old", at("2026-12-31T17:00:00Z"), "", "30d", label},
		{"the same duration, which counts from elsewhere", "old", "polex.dev/expires-in: 30d", "", "30d", label},
		{"an end beside a duration", "old", "polex.dev/expires-in: 30d", "", "2026-12-31T170000Z", label},
		{"no time", "old", at("2026-12-31T17:00:00Z"), "", "never", label},
		{"nothing beside it", "old", "", "", "30d", label},
		{"a time, and nothing beside it", "new", "", "", "2026-12-31T170000Z", label},
		{"empty", "old", at("2026-12-31T17:00:00Z"), "", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := lifetime.Of(labelled(t, tc.group, tc.annotations, tc.spec, tc.ttl))
			wrongAt(t, err, tc.wrong)
		})
	}
}

// TestFormatTTL: an end is one time, whichever zone or season it is written in,
// and never one that has not come.
func TestFormatTTL(t *testing.T) {
	summer := time.FixedZone("CEST", 2*3600)
	for want, end := range map[string]time.Time{
		"2026-12-31T170000Z": time.Date(2026, 12, 31, 17, 0, 0, 0, time.UTC),
		"2027-01-01T000000Z": time.Date(2026, 12, 31, 23, 59, 59, 1, time.UTC),
		"2026-12-31T223000Z": time.Date(2027, 1, 1, 0, 30, 0, 0, summer),
		"2028-02-29T233000Z": time.Date(2028, 3, 1, 1, 30, 0, 0, summer),
		"2028-03-01T003000Z": time.Date(2028, 2, 29, 17, 30, 0, 0, time.FixedZone("", -7*3600)),
		// The hour that is twice when clocks are put back is told by its offset.
		"2026-10-25T003000Z": time.Date(2026, 10, 25, 2, 30, 0, 0, summer),
		"2026-10-25T013000Z": time.Date(2026, 10, 25, 2, 30, 0, 0, time.FixedZone("CET", 3600)),
	} {
		if got := lifetime.FormatTTL(end); got != want {
			t.Errorf("%s: %s, want %s", end, got, want)
		}
		if !exception.IsLabelValue(lifetime.FormatTTL(end)) {
			t.Errorf("%s: no value of a label", end)
		}
		e := labelled(t, "old", fmt.Sprintf("polex.dev/expires-at: %q", end.Format(time.RFC3339Nano)), "", want)
		if _, err := lifetime.Of(e); err != nil {
			t.Errorf("%s: what is written is refused: %v", end, err)
		}
	}
}
