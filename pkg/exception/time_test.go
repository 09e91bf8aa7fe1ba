package exception_test

import (
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// TestParseTime: exactly RFC 3339, and no time that is Go's zero time.
func TestParseTime(t *testing.T) {
	for _, text := range []string{
		"2026-12-31T17:00:00Z", "2026-12-31T17:00:00.5Z", "2026-12-31T17:00:00.123456789+23:59", "2026-12-31T00:00:00-00:00", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
	} {
		got, err := exception.ParseTime(text)
		want, wantErr := time.Parse(time.RFC3339, text)
		if err != nil || wantErr != nil || !got.Equal(want) || got.IsZero() {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"2026-12-31T7:00:00Z", "2026-12-31T17:00:00,5Z", "2026-12-31T17:00:00+24:00", "2026-12-31T17:00:00+23:60", "2026-12-31T17:00:00-99:00",
		"2026-12-31T17:00:00+01", "2026-12-31T17:00:00+0100", "2026-12-31T17:00:00.Z", "2026-12-31T24:00:00Z", "2026-12-31T17:00:60Z", "2026-12-31 17:00:00Z",
		"2026-12-31t17:00:00z", "2026-12-31T17:00Z", "2026-1-31T17:00:00Z", "26-12-31T17:00:00Z", "10000-01-01T00:00:00Z", " 2026-12-31T17:00:00Z", "2026-12-31T17:00:00Z\n",
		"", "never", "0001-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "0001-01-01T02:00:00+02:00", "1969-12-31T23:59:59.999999999Z",
	} {
		if got, err := exception.ParseTime(text); err == nil || !got.IsZero() {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}

// FuzzParseTime: a valid time is never Go's zero time, and less strict readers read the same time.
func FuzzParseTime(f *testing.F) {
	for _, text := range []string{"2026-12-31T17:00:00Z", "2026-12-31T7:00:00Z", "2026-12-31T17:00:00,5Z", "2026-12-31T17:00:00+24:00", "0001-01-01T00:00:00Z"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := exception.ParseTime(text)
		if err != nil {
			return
		}
		if loose, err := time.Parse(time.RFC3339, text); err != nil || !loose.Equal(got) || got.IsZero() {
			t.Errorf("%q: %s, and to others %s, %v", text, got, loose, err)
		}
	})
}
