package lifetime_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/test/expect"
)

// document returns an exception of either group, or another object.
func document(t *testing.T, group, annotations, spec string) *exception.Document {
	t.Helper()
	apiVersion, kind := map[string]string{"old": "kyverno.io/v2", "new": "policies.kyverno.io/v1", "other": "v1"}[group], "PolicyException"
	if group == "other" {
		kind = "ConfigMap"
	}
	text := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: a\n  annotations: {%s}\nspec: {%s}\n", apiVersion, kind, annotations, spec)
	return expect.Value(exception.Parse([]byte(text), "test.yaml"))(t)
}

func at(text string) time.Time {
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return parsed
}

func TestOf(t *testing.T) {
	const end, other = "2026-12-31T17:00:00Z", "2027-12-31T17:00:00Z"
	expires := func(text string) string { return fmt.Sprintf("polex.dev/expires-at: %q", text) }
	starts := func(text string) string { return fmt.Sprintf("polex.dev/starts-at: %q", text) }
	native := func(text string) string { return fmt.Sprintf("expiresAt: %q", text) }
	for _, tc := range []struct {
		name, groups, annotations, spec string
		want                            lifetime.Lifetime
		wrong                           string // the path of the *Error
	}{
		{"nothing said", "old new other", "", "", lifetime.Lifetime{}, ""},
		{"an end", "old new other", expires(end), "", lifetime.Lifetime{ExpiresAt: at(end)}, ""},
		{"an end in another zone", "old new other", expires("2026-12-31T19:00:00+02:00"), "", lifetime.Lifetime{ExpiresAt: at(end)}, ""},
		{"an end west of it", "old new other", expires("2026-12-31T09:30:00-07:30"), "", lifetime.Lifetime{ExpiresAt: at(end)}, ""},
		{"a beginning and an end", "old new other", starts("2026-01-01T00:00:00Z") + ", " + expires(end), "", lifetime.Lifetime{StartsAt: at("2026-01-01T00:00:00Z"), ExpiresAt: at(end)}, ""},
		{"a duration", "old new other", "polex.dev/expires-in: 7d", "", lifetime.Lifetime{ExpiresIn: 7 * 24 * time.Hour}, ""},
		{"the native end", "new", "", native(end), lifetime.Lifetime{ExpiresAt: at(end)}, ""},
		{"the native end of a group that has none", "old other", "", native(end), lifetime.Lifetime{}, ""},
		{"both ends, the same", "new", expires(end), native(end), lifetime.Lifetime{ExpiresAt: at(end)}, ""},
		{"both ends, different", "new", expires(other), native(end), lifetime.Lifetime{}, `metadata.annotations["polex.dev/expires-at"]`},
		{"both ends, the same in other words", "new", expires("2026-12-31T19:00:00+02:00"), native(end), lifetime.Lifetime{}, `metadata.annotations["polex.dev/expires-at"]`},
		{"begins at its end", "old new other", starts(end) + ", " + expires(end), "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/starts-at"]`},
		{"begins at its end in another zone", "old new other", starts("2026-12-31T19:00:00+02:00") + ", " + expires(end), "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/starts-at"]`},
		{"a day", "old new other", expires("2026-12-31"), "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/expires-at"]`},
		{"no zone", "old new other", expires("2026-12-31T17:00:00"), "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/expires-at"]`},
		{"a zone's name", "old new other", expires("2026-12-31T17:00:00 UTC"), "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/expires-at"]`},
		{"no such day", "old new other", expires("2026-02-29T00:00:00Z"), "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/expires-at"]`},
		{"seconds since 1970", "old new other", expires("1798736400"), "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/expires-at"]`},
		{"a number", "old new other", "polex.dev/expires-at: 2026", "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/expires-at"]`},
		{"a list", "old new other", "polex.dev/expires-at: [" + end + "]", "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/expires-at"]`},
		{"null", "old new other", "polex.dev/expires-at: null", "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/expires-at"]`},
		{"an empty text", "old new other", `polex.dev/expires-at: ""`, "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/expires-at"]`},
		{"a duration that is a number", "old new other", "polex.dev/expires-in: 7", "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/expires-in"]`},
		{"a duration that is true", "old new other", "polex.dev/expires-in: true", "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/expires-in"]`},
		{"a beginning that is a mapping", "old new other", "polex.dev/starts-at: {a: b}", "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/starts-at"]`},
		{"a native end that is a number", "new", "", "expiresAt: 1798736400", lifetime.Lifetime{}, "spec.expiresAt"},
		{"a native end that is null", "new", "", "expiresAt: null", lifetime.Lifetime{}, "spec.expiresAt"},
		{"a native end that is empty", "new", "", `expiresAt: ""`, lifetime.Lifetime{}, "spec.expiresAt"},
		{"a native end that is null beside an end", "new", expires(end), "expiresAt: null", lifetime.Lifetime{}, "spec.expiresAt"},
		{"a native end beside one that is a number", "new", "polex.dev/expires-at: 2026", native(end), lifetime.Lifetime{}, `metadata.annotations["polex.dev/expires-at"]`},
		{"the zero time", "old new other", expires("0001-01-01T00:00:00Z"), "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/expires-at"]`},
		{"the zero time in another zone", "old new other", expires("0001-01-01T02:00:00+02:00"), "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/expires-at"]`},
		{"the zero time as a native end", "new", "", native("0001-01-01T00:00:00Z"), lifetime.Lifetime{}, "spec.expiresAt"},
		{"the zero time as a beginning", "old new other", starts("0001-01-01T00:00:00Z") + ", " + expires(end), "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/starts-at"]`},
		{"a native end that is no time", "new", "", native("never"), lifetime.Lifetime{}, "spec.expiresAt"},
		{"a beginning that is no time", "old new other", starts("now"), "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/starts-at"]`},
		{"a duration that is none", "old new other", "polex.dev/expires-in: forever", "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/expires-in"]`},
	} {
		for _, group := range strings.Fields(tc.groups) {
			t.Run(tc.name+" "+group, func(t *testing.T) {
				got, err := lifetime.Of(document(t, group, tc.annotations, tc.spec), lifetime.Terms{})
				got.End = exception.Statement{}
				wrongAt(t, err, tc.wrong)
				expect.Equal(t, "result", tc.want, got)
			})
		}
	}
}

func wrongAt(t *testing.T, err error, place string) {
	t.Helper()
	if place == "" {
		expect.OK(t, err)
		return
	}
	var bad *lifetime.Error
	if !errors.As(err, &bad) || bad.Path.String() != place || bad.Message == "" {
		t.Fatalf("%v, want an error at %s", err, place)
	}
}

func TestResolve(t *testing.T) {
	signedAt := time.Date(2026, 3, 28, 23, 30, 0, 999, time.FixedZone("", -3600)) // 00:30 in UTC, the next day
	for _, tc := range []struct {
		name, group, annotations, spec, path, value, wrong string
	}{
		{"old group", "old", "polex.dev/expires-in: 7d", "", `metadata.annotations["polex.dev/expires-at"]`, "2026-04-05T00:30:00Z", ""},
		{"new group", "new", "polex.dev/expires-in: 7d", "", "spec.expiresAt", "2026-04-05T00:30:00Z", ""},
		{"across a change of clocks", "old", "polex.dev/expires-in: 1d", "", `metadata.annotations["polex.dev/expires-at"]`, "2026-03-30T00:30:00Z", ""},
		{"no duration", "old", "", "", "", "", ""},
		{"an end already", "old", `polex.dev/expires-at: "2026-12-31T17:00:00Z"`, "", "", "", ""},
		{"an end and a duration", "old", `polex.dev/expires-in: 7d, polex.dev/expires-at: "2026-12-31T17:00:00Z"`, "", "", "", `metadata.annotations["polex.dev/expires-in"]`},
		{"a native end and a duration", "new", "polex.dev/expires-in: 7d", `expiresAt: "2026-12-31T17:00:00Z"`, "", "", `metadata.annotations["polex.dev/expires-in"]`},
		{"begins after", "old", `polex.dev/expires-in: 7d, polex.dev/starts-at: "2026-04-05T00:30:00Z"`, "", "", "", `metadata.annotations["polex.dev/starts-at"]`},
		{"begins before", "old", `polex.dev/expires-in: 7d, polex.dev/starts-at: "2026-04-05T00:29:59Z"`, "", `metadata.annotations["polex.dev/expires-at"]`, "2026-04-05T00:30:00Z", ""},
		{"a leap day", "old", "polex.dev/expires-in: 703d", "", `metadata.annotations["polex.dev/expires-at"]`, "2028-03-01T00:30:00Z", ""},
		{"in another zone", "old", `polex.dev/expires-in: 7d, polex.dev/starts-at: "2026-04-05T02:29:59+02:00"`, "", `metadata.annotations["polex.dev/expires-at"]`, "2026-04-05T00:30:00Z", ""},
		{"begins after, in another zone", "old", `polex.dev/expires-in: 7d, polex.dev/starts-at: "2026-04-04T19:00:00-05:30"`, "", "", "", `metadata.annotations["polex.dev/starts-at"]`},
		{"no duration of ours", "new", "polex.dev/expires-in: -1d", "", "", "", `metadata.annotations["polex.dev/expires-in"]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			added, err := lifetime.Resolve(document(t, tc.group, tc.annotations, tc.spec), signedAt, false, lifetime.Terms{})
			wrongAt(t, err, tc.wrong)
			got, want := byPath(added), map[string]string{tc.path: tc.value}
			delete(want, "")
			expect.Equal(t, "additions", want, got)
		})
	}
}

// TestResolveLabel: on request, a kyverno.io exception gets its expiry as a label too, once.
func TestResolveLabel(t *testing.T) {
	signedAt := at("2026-03-29T00:30:00Z")
	for _, tc := range []struct {
		name, group, annotations, spec string
		want                           map[string]string // by path
	}{
		{"a duration", "old", "polex.dev/expires-in: 7d", "", map[string]string{
			`metadata.annotations["polex.dev/expires-at"]`: "2026-04-05T00:30:00Z", `metadata.labels["cleanup.kyverno.io/ttl"]`: "2026-04-05T003000Z"}},
		{"a time", "old", `polex.dev/expires-at: "2026-12-31T17:00:00+01:00"`, "", map[string]string{
			`metadata.labels["cleanup.kyverno.io/ttl"]`: "2026-12-31T160000Z"}},
		{"no end", "old", "", "", map[string]string{}},
		{"the other group", "new", "", `expiresAt: "2026-12-31T17:00:00Z"`, map[string]string{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			doc := document(t, tc.group, tc.annotations, tc.spec)
			added := expect.Value(lifetime.Resolve(doc, signedAt, true, lifetime.Terms{}))(t)
			expect.Equal(t, "additions", tc.want, byPath(added))
		})
	}
	there := labelled(t, "old", `polex.dev/expires-at: "2026-12-31T17:00:00Z"`, "", "2026-12-31T170000Z")
	added := expect.Value(lifetime.Resolve(there, signedAt, true, lifetime.Terms{}))(t)
	expect.Is(t, "additions", 0, len(added))
}

func byPath(added []exception.Addition) map[string]string {
	values := map[string]string{}
	for _, a := range added {
		values[a.Path.String()] = a.Value
	}
	return values
}
