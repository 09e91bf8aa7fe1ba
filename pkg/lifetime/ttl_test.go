package lifetime_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/test/expect"
)

// labelled returns an exception with Kyverno's label.
func labelled(t *testing.T, group, annotations, spec, ttl string) *exception.Document {
	t.Helper()
	apiVersion := map[string]string{"old": "kyverno.io/v2", "new": "policies.kyverno.io/v1"}[group]
	text := fmt.Sprintf("apiVersion: %s\nkind: PolicyException\nmetadata:\n  name: a\n  labels: {cleanup.kyverno.io/ttl: %q}\n  annotations: {%s}\nspec: {%s}\n",
		apiVersion, ttl, annotations, spec)
	return expect.Value(exception.Parse([]byte(text), "test.yaml"))(t)
}

// TestTTL: an absolute label is an expiry, and the earliest of several counts. Durations and
// invalid values are rejected.
func TestTTL(t *testing.T) {
	const label, end = `metadata.labels["cleanup.kyverno.io/ttl"]`, "2026-12-31T17:00:00Z"
	said := func(text string) string { return fmt.Sprintf("polex.dev/expires-at: %q", text) }
	native := fmt.Sprintf("expiresAt: %q", end)
	for _, tc := range []struct{ name, group, annotations, spec, ttl, want, wrong string }{
		{"the end", "old", said(end), "", "2026-12-31T170000Z", end, ""},
		{"the native end", "new", "", native, "2026-12-31T170000Z", end, ""},
		{"the end in another zone", "old", said("2027-01-01T02:00:00+09:00"), "", "2026-12-31T170000Z", end, ""},
		{"midnight as a day", "old", said("2028-02-29T00:00:00Z"), "", "2028-02-29", "2028-02-29T00:00:00Z", ""},
		{"a day later than midnight elsewhere", "old", said("2028-02-29T00:00:00+01:00"), "", "2028-02-29", "2028-02-28T23:00:00Z", ""},
		{"later", "old", said(end), "", "2026-12-31T170001Z", end, ""},
		{"earlier", "old", said(end), "", "2026-12-31T165959Z", "2026-12-31T16:59:59Z", ""},
		{"earlier, for the other group", "new", "", native, "2026-12-31T165959Z", "2026-12-31T16:59:59Z", ""},
		{"nothing beside it", "old", "", "", "2026-12-31T170000Z", end, ""},
		{"nothing beside it, for the other group", "new", "", "", "2026-12-31", "2026-12-31T00:00:00Z", ""},
		{"a duration beside an end", "old", said(end), "", "30d", "", label},
		{"the same duration, which counts from elsewhere", "old", "polex.dev/expires-in: 30d", "", "30d", "", label},
		{"an end beside a duration", "old", "polex.dev/expires-in: 30d", "", "2026-12-31T170000Z", end, ""},
		{"no time", "old", said(end), "", "never", "", label},
		{"a duration", "old", "", "", "30d", "", label},
		{"a time as RFC 3339 has it", "old", "", "", "2026-12-31T17-00-00Z", "", label},
		{"before 1970", "old", said(end), "", "1969-12-31", "", label},
		{"a day that is none", "old", said(end), "", "2026-02-30", "", label},
		{"empty", "old", said(end), "", "", end, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			life, err := lifetime.Of(labelled(t, tc.group, tc.annotations, tc.spec, tc.ttl), lifetime.Terms{})
			wrongAt(t, err, tc.wrong)
			if tc.want != "" && !life.ExpiresAt.Equal(at(tc.want)) {
				t.Errorf("it ends at %s, want %s", life.ExpiresAt, tc.want)
			}
		})
	}
}

// TestFormatTTL: an expiry is the same time in every zone and season, and never too early.
func TestFormatTTL(t *testing.T) {
	summer := time.FixedZone("CEST", 2*3600)
	for want, end := range map[string]time.Time{
		"2026-12-31T170000Z": time.Date(2026, 12, 31, 17, 0, 0, 0, time.UTC),
		"2027-01-01T000000Z": time.Date(2026, 12, 31, 23, 59, 59, 1, time.UTC),
		"2026-12-31T223000Z": time.Date(2027, 1, 1, 0, 30, 0, 0, summer),
		"2028-02-29T233000Z": time.Date(2028, 3, 1, 1, 30, 0, 0, summer),
		"2028-03-01T003000Z": time.Date(2028, 2, 29, 17, 30, 0, 0, time.FixedZone("", -7*3600)),
		// The offset distinguishes the two equal hours of a clock change.
		"2026-10-25T003000Z": time.Date(2026, 10, 25, 2, 30, 0, 0, summer),
		"2026-10-25T013000Z": time.Date(2026, 10, 25, 2, 30, 0, 0, time.FixedZone("CET", 3600)),
	} {
		expect.Is(t, end.String(), want, lifetime.FormatTTL(end))
		expect.Is(t, "the value of a label", true, exception.IsLabelValue(want))
		e := labelled(t, "old", fmt.Sprintf("polex.dev/expires-at: %q", end.Format(time.RFC3339Nano)), "", want)
		expect.Value(lifetime.Of(e, lifetime.Terms{}))(t)
	}
}
