package pending_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
)

// TestBlocked: a change gets the refusals of its own files, and of other files only those that it causes.
func TestBlocked(t *testing.T) {
	entry := func(path string, change bool, names ...string) pending.Entry {
		e := pending.Entry{File: pending.File{Path: path, Mode: pending.Regular}, Changed: change}
		if rest, ok := strings.CutPrefix(path, "unsigned/"); ok {
			e.To = "signed/" + rest
		} else {
			e.Signed = true
		}
		for _, name := range names {
			// A reader gives positions by the path for this process, here from a folder below the repository.
			e.Documents = append(e.Documents, pending.Document{Identity: exception.Identity{Name: name},
				Position: exception.Position{File: "../" + path, Line: 7}})
		}
		return e
	}
	for name, tc := range map[string]struct {
		entries []pending.Entry
		replace bool
		want    []string
	}{
		"nothing in the way": {entries: []pending.Entry{entry("unsigned/a.yaml", true, "a"), entry("signed/b.yaml", false, "b")}},
		"a bad name":         {entries: []pending.Entry{entry("unsigned/a b.yaml", true, "a")}, want: []string{"unsigned/a b.yaml bad-file-name"}},
		"an older bad name":  {entries: []pending.Entry{entry("unsigned/a b.yaml", false, "a"), entry("unsigned/c.yaml", true, "c")}},
		"pending twice": {
			entries: []pending.Entry{entry("unsigned/a.yaml", true, "a"), entry("unsigned/b.yaml", false, "a")},
			want:    []string{"unsigned/a.yaml duplicate-identity"},
		},
		"signed already": {
			entries: []pending.Entry{entry("unsigned/a.yaml", true, "a"), entry("signed/b.yaml", false, "a")},
			want:    []string{"unsigned/a.yaml already-signed"},
		},
		"replaced": {entries: []pending.Entry{entry("unsigned/a.yaml", true, "a"), entry("signed/b.yaml", false, "a")}, replace: true},
		"older files that are blocked already": {
			entries: []pending.Entry{entry("unsigned/a.yaml", false, "a"), entry("signed/b.yaml", false, "a"), entry("unsigned/c.yaml", true, "c")},
		},
		"an older file that the change blocks": {
			entries: []pending.Entry{entry("unsigned/a.yaml", false, "a"), entry("signed/b.yaml", true, "a")},
			want:    []string{"unsigned/a.yaml already-signed"},
		},
		"one refusal for a file and reason": {
			entries: []pending.Entry{entry("unsigned/a.yaml", true, "a", "b"), entry("signed/b.yaml", false, "a", "b")},
			want:    []string{"unsigned/a.yaml already-signed"},
		},
		"names that differ in case": {
			entries: []pending.Entry{entry("unsigned/a.yaml", false, "a"), entry("unsigned/A.yaml", true, "b")},
			want:    []string{"unsigned/A.yaml target-exists"},
		},
	} {
		var got []string
		for _, r := range pending.Blocked(tc.entries, tc.replace) {
			got = append(got, r.Position.File+" "+r.Reason)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
