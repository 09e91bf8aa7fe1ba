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
	"github.com/polex-dev/polex/test/must"
)

// document returns an exception of either group, or another object.
func document(t *testing.T, group, annotations, spec string) *exception.Document {
	t.Helper()
	return withMetadata(t, group, "annotations: {"+annotations+"}", spec)
}

func withMetadata(t *testing.T, group, metadata, spec string) *exception.Document {
	t.Helper()
	head := map[string]string{"old": "kyverno.io/v2\nkind: PolicyException",
		"new": "policies.kyverno.io/v1\nkind: PolicyException", "other": "v1\nkind: ConfigMap"}[group]
	return parsed(t, fmt.Sprintf("apiVersion: %s\nmetadata: {name: a, %s}\nspec: {%s}\n", head, metadata, spec))
}

func parsed(t *testing.T, text string) *exception.Document {
	t.Helper()
	return must.Get(exception.Parse([]byte(text), "test.yaml"))(t)
}

// labelled returns an exception with Kyverno's label.
func labelled(t *testing.T, group, annotations, spec, ttl string) *exception.Document {
	t.Helper()
	return withMetadata(t, group, fmt.Sprintf("labels: {cleanup.kyverno.io/ttl: %q}, annotations: {%s}", ttl, annotations), spec)
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
	const expiresAt, startsAt = `metadata.annotations["polex.dev/expires-at"]`, `metadata.annotations["polex.dev/starts-at"]`
	const all = "old new other"
	for _, tc := range []struct {
		name, groups, annotations, spec string
		want                            lifetime.Lifetime
		wrong                           string // the path of the *Error
	}{
		{"nothing said", all, "", "", lifetime.Lifetime{}, ""},
		{"an end", all, expires(end), "", lifetime.Lifetime{ExpiresAt: at(end)}, ""},
		{"an end in another zone", all, expires("2026-12-31T19:00:00+02:00"), "", lifetime.Lifetime{ExpiresAt: at(end)}, ""},
		{"an end west of it", all, expires("2026-12-31T09:30:00-07:30"), "", lifetime.Lifetime{ExpiresAt: at(end)}, ""},
		{"a beginning and an end", all, starts("2026-01-01T00:00:00Z") + ", " + expires(end), "", lifetime.Lifetime{StartsAt: at("2026-01-01T00:00:00Z"), ExpiresAt: at(end)}, ""},
		{"a duration", all, "polex.dev/expires-in: 7d", "", lifetime.Lifetime{ExpiresIn: 7 * 24 * time.Hour}, ""},
		{"the native end", "new", "", native(end), lifetime.Lifetime{ExpiresAt: at(end)}, ""},
		{"the native end of a group that has none", "old other", "", native(end), lifetime.Lifetime{}, ""},
		{"both ends, the same", "new", expires(end), native(end), lifetime.Lifetime{ExpiresAt: at(end)}, ""},
		{"both ends, different", "new", expires(other), native(end), lifetime.Lifetime{}, expiresAt},
		{"both ends, the same in other words", "new", expires("2026-12-31T19:00:00+02:00"), native(end), lifetime.Lifetime{}, expiresAt},
		{"begins at its end", all, starts(end) + ", " + expires(end), "", lifetime.Lifetime{}, startsAt},
		{"begins at its end in another zone", all, starts("2026-12-31T19:00:00+02:00") + ", " + expires(end), "", lifetime.Lifetime{}, startsAt},
		{"a day", all, expires("2026-12-31"), "", lifetime.Lifetime{}, expiresAt},
		{"no zone", all, expires("2026-12-31T17:00:00"), "", lifetime.Lifetime{}, expiresAt},
		{"a zone's name", all, expires("2026-12-31T17:00:00 UTC"), "", lifetime.Lifetime{}, expiresAt},
		{"no such day", all, expires("2026-02-29T00:00:00Z"), "", lifetime.Lifetime{}, expiresAt},
		{"seconds since 1970", all, expires("1798736400"), "", lifetime.Lifetime{}, expiresAt},
		{"a number", all, "polex.dev/expires-at: 2026", "", lifetime.Lifetime{}, expiresAt},
		{"a list", all, "polex.dev/expires-at: [" + end + "]", "", lifetime.Lifetime{}, expiresAt},
		{"null", all, "polex.dev/expires-at: null", "", lifetime.Lifetime{}, expiresAt},
		{"an empty text", all, `polex.dev/expires-at: ""`, "", lifetime.Lifetime{}, expiresAt},
		{"a duration that is a number", all, "polex.dev/expires-in: 7", "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/expires-in"]`},
		{"a duration that is true", all, "polex.dev/expires-in: true", "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/expires-in"]`},
		{"a beginning that is a mapping", all, "polex.dev/starts-at: {a: b}", "", lifetime.Lifetime{}, startsAt},
		{"a native end that is a number", "new", "", "expiresAt: 1798736400", lifetime.Lifetime{}, "spec.expiresAt"},
		{"a native end that is null", "new", "", "expiresAt: null", lifetime.Lifetime{}, "spec.expiresAt"},
		{"a native end that is empty", "new", "", `expiresAt: ""`, lifetime.Lifetime{}, "spec.expiresAt"},
		{"a native end that is null beside an end", "new", expires(end), "expiresAt: null", lifetime.Lifetime{}, "spec.expiresAt"},
		{"a native end beside one that is a number", "new", "polex.dev/expires-at: 2026", native(end), lifetime.Lifetime{}, expiresAt},
		{"the zero time", all, expires("0001-01-01T00:00:00Z"), "", lifetime.Lifetime{}, expiresAt},
		{"the zero time in another zone", all, expires("0001-01-01T02:00:00+02:00"), "", lifetime.Lifetime{}, expiresAt},
		{"the zero time as a native end", "new", "", native("0001-01-01T00:00:00Z"), lifetime.Lifetime{}, "spec.expiresAt"},
		{"the zero time as a beginning", all, starts("0001-01-01T00:00:00Z") + ", " + expires(end), "", lifetime.Lifetime{}, startsAt},
		{"a native end that is no time", "new", "", native("never"), lifetime.Lifetime{}, "spec.expiresAt"},
		{"a beginning that is no time", all, starts("now"), "", lifetime.Lifetime{}, startsAt},
		{"a duration that is none", all, "polex.dev/expires-in: forever", "", lifetime.Lifetime{}, `metadata.annotations["polex.dev/expires-in"]`},
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
		must.Do(t, err)
		return
	}
	var bad *lifetime.Error
	must.That(t, errors.As(err, &bad) && bad.Path.String() == place && bad.Message != "",
		"%v, want an error at %s", err, place)
}

func TestResolve(t *testing.T) {
	signedAt := time.Date(2026, 3, 28, 23, 30, 0, 999, time.FixedZone("", -3600)) // 00:30 in UTC, the next day
	for _, tc := range []struct {
		name, group, annotations, spec, path, value, wrong string // path and value of the addition
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
			added := must.Get(lifetime.Resolve(doc, signedAt, true, lifetime.Terms{}))(t)
			expect.Equal(t, "additions", tc.want, byPath(added))
		})
	}
	there := labelled(t, "old", `polex.dev/expires-at: "2026-12-31T17:00:00Z"`, "", "2026-12-31T170000Z")
	expect.Empty(t, "additions", must.Get(lifetime.Resolve(there, signedAt, true, lifetime.Terms{}))(t))
}

func byPath(added []exception.Addition) map[string]string {
	values := map[string]string{}
	for _, a := range added {
		values[a.Path.String()] = a.Value
	}
	return values
}

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"4h": 4 * time.Hour, "7d": 7 * day, "2w": 14 * day, "1d12h": 36 * time.Hour, "90m": 90 * time.Minute, "1s": time.Second,
		"1w1d1h1m1s": 8*day + time.Hour + time.Minute + time.Second, "07d": 7 * day, "0d1h": time.Hour, "15000w": 15000 * 7 * day,
		// Zero means an error.
		"": 0, "0": 0, "0d": 0, "0w0d0h0m0s": 0, "7": 0, "d": 0, "-7d": 0, "+7d": 0, "1.5h": 0, "7 d": 0, " 7d": 0, "7d ": 0, "7d\n": 0,
		"7D": 0, "7y": 0, "7mo": 0, "1h1d": 0, "1d1d": 0, "7days": 0, "1e3s": 0, "٧d": 0, "100000d": 0, "1ms": 0, "inf": 0, "P7D": 0,
		"99999w": 0, "15250w99999d": 0, "15000w99999d": 0, "99999999999999999999s": 0,
	} {
		got, err := lifetime.ParseDuration(text)
		expect.That(t, got == want && (err == nil) == (want > 0), "%q: %s, %v, want %s", text, got, err, want)
	}
}

// TestDurationSuggestion: an error about another way to write a duration names the right one.
func TestDurationSuggestion(t *testing.T) {
	for text, want := range map[string]string{
		"1 week": "1w", "2 weeks": "2w", "30 days": "30d", "7D": "7d", "P7D": "7d", "P1DT12H": "1d12h", "1 week, 2 days": "1w2d", "90 min": "90m",
		"1 day and 12 hours": "1d12h", " 7d ": "", "7": "", "1 month": "", "never": "", "1.5h": "", "${TTL}": "", "-7d": "", "7d7d": "", strings.Repeat("1 week ", 9): "",
	} {
		_, err := lifetime.ParseDuration(text)
		_, got, _ := strings.Cut(fmt.Sprint(err), "is not a duration: write ")
		expect.Is(t, text, want, got)
	}
}

// TestDurationOverflow: sums of the longest durations are positive or an error.
func TestDurationOverflow(t *testing.T) {
	for _, weeks := range []string{"", "15249w", "15250w", "15251w", "99999w"} {
		for _, days := range []string{"", "1d", "99999d"} {
			for _, rest := range []string{"1s", "999999h", "9999999m", "999999999s", "999999h9999999m999999999s"} {
				got, err := lifetime.ParseDuration(weeks + days + rest)
				expect.That(t, err != nil || got > 0, "%s: %s", weeks+days+rest, got)
			}
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 36 * time.Hour: "1d12h", 14 * 24 * time.Hour: "14d", 90 * 24 * time.Hour: "90d", 100_000 * 24 * time.Hour: "14285w5d", time.Millisecond: "0s", time.Hour + time.Millisecond: "1h",
	} {
		expect.Is(t, fmt.Sprintf("%d", d), want, lifetime.FormatDuration(d))
	}
}

// FuzzDuration: a duration stays the same after it is written and parsed.
func FuzzDuration(f *testing.F) {
	for _, text := range strings.Fields("4h 7d 2w 1d12h 99999w 15250w3d 0s") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := lifetime.ParseDuration(text)
		if err != nil {
			return
		}
		again, err := lifetime.ParseDuration(lifetime.FormatDuration(d))
		expect.That(t, d > 0 && err == nil && again == d, "%q: %s, and again %s, %v", text, d, again, err)
	})
}

// TestKeys: a team's own keys state an expiry at every place of an exception. Their values are never ignored.
func TestKeys(t *testing.T) {
	terms := must.Get(lifetime.Config{ExpiryKeys: []string{"acme.com/expires", "until"}}.Terms())(t)
	for _, tc := range []struct{ name, group, metadata, spec, want, wrong string }{
		{"an annotation", "old", `annotations: {acme.com/expires: "2026-12-31T17:00:00+01:00"}`, "", "2026-12-31T16:00:00Z", ""},
		{"a date", "old", `annotations: {acme.com/expires: "2026-12-31"}`, "", "2026-12-31T00:00:00Z", ""},
		{"a label", "old", `labels: {until: "2026-12-31"}`, "", "2026-12-31T00:00:00Z", ""},
		{"a property", "new", "", `properties: {until: "2026-12-31"}`, "2026-12-31T00:00:00Z", ""},
		{"a property of a kind without properties", "old", "", `properties: {until: "2026-12-31"}`, "", ""},
		{"the earliest of all", "new", `labels: {until: "2026-12-30", cleanup.kyverno.io/ttl: "2026-12-31"}, annotations: {acme.com/expires: "2026-12-29"}`,
			`properties: {until: "2026-12-28"}, expiresAt: "2027-01-01T00:00:00Z"`, "2026-12-28T00:00:00Z", ""},
		{"in other letters", "old", `annotations: {Acme.com/expires: "2026-12-31"}`, "", "", ""},
		{"a word", "old", `annotations: {acme.com/expires: "Q4"}`, "", "", `metadata.annotations["acme.com/expires"]`},
		{"a number", "old", `annotations: {polex.dev/expires-at: "2026-12-31T17:00:00Z", until: 2026}`, "", "", `metadata.annotations.until`},
		{"an empty text", "old", `labels: {until: ""}`, "", "", `metadata.labels.until`},
		{"before 1970", "old", `labels: {until: "1969-12-31"}`, "", "", `metadata.labels.until`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			life, err := lifetime.Of(withMetadata(t, tc.group, tc.metadata, tc.spec), terms)
			wrongAt(t, err, tc.wrong)
			ends(t, life, tc.want)
		})
	}
	other := withMetadata(t, "other", "labels: {until: never, cleanup.kyverno.io/ttl: 1h}", "")
	ends(t, must.Get(lifetime.Of(other, terms))(t), "") // a document of another kind
}

// ends compares the expiry, "" for none.
func ends(t *testing.T, life lifetime.Lifetime, want string) {
	t.Helper()
	if got := life.ExpiresAt; want != "" && !got.Equal(at(want)) || want == "" && !got.IsZero() {
		t.Errorf("it ends at %s, want %q", got, want)
	}
}

// TestGrandfathered: an entry sets the expiry of the exception with that digest, if the exception states none.
func TestGrandfathered(t *testing.T) {
	const text = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: a, namespace: b}\nspec: {exceptions: [{policyName: p, ruleNames: [r]}]}\n"
	digest := lifetime.ContentDigest(parsed(t, text))
	listed := []lifetime.Grandfather{{Digest: digest, Until: "2027-03-31"}}
	terms := must.Get(lifetime.Config{Grandfathered: listed}.Terms())(t)
	const until = "2027-03-31T00:00:00Z"
	for _, tc := range []struct{ name, old, new, want string }{
		{"the very exception", "", "", until},
		{"in another order, with a comment", "metadata: {name: a, namespace: b}", "# why\nmetadata: {namespace: b, name: a}", until},
		{"signed", "namespace: b}", "namespace: b, annotations: {cosign.sigstore.dev/message: m, cosign.sigstore.dev/signature_1: s}}", until},
		{"another rule", "[r]", "[s]", ""},
		{"one rule more", "[r]", "[r, s]", ""},
		{"another namespace", "namespace: b", "namespace: c", ""},
		{"an annotation more", "namespace: b}", "namespace: b, annotations: {a: b}}", ""},
		{"another version", "kyverno.io/v2", "kyverno.io/v2beta1", ""},
		{"with an end of its own", "namespace: b}", `namespace: b, annotations: {polex.dev/expires-at: "2026-12-31T17:00:00Z"}}`, "2026-12-31T17:00:00Z"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			doc := parsed(t, strings.Replace(text, tc.old, tc.new, 1))
			ends(t, must.Get(lifetime.Of(doc, terms))(t), tc.want)
		})
	}
	// Signing writes the expiry into the exception, so that it no longer needs the entry.
	for _, apiVersion := range []string{"kyverno.io/v2", "policies.kyverno.io/v1"} {
		doc := parsed(t, strings.Replace(text, "kyverno.io/v2", apiVersion, 1))
		given := lifetime.Terms{Grandfathered: terms.Grandfathered}
		given.Grandfathered[lifetime.ContentDigest(doc)] = at(until)
		added := must.Get(lifetime.Resolve(doc, at("2026-11-23T00:00:00Z"), false, given))(t)
		expect.Is(t, "additions to "+apiVersion, 1, len(added))
		expect.Is(t, apiVersion, until, added[0].Value)
		signed := must.Get(doc.Add(added...))(t)
		ends(t, must.Get(lifetime.Of(signed, lifetime.Terms{}))(t), until)
	}
}

// TestBadTerms: reserved keys and invalid entries are rejected.
func TestBadTerms(t *testing.T) {
	good := "sha256:" + strings.Repeat("0a", 32)
	for _, bad := range []lifetime.Config{
		{ExpiryKeys: []string{""}}, {ExpiryKeys: []string{"a b"}}, {ExpiryKeys: []string{"polex.dev/expires-at"}}, {ExpiryKeys: []string{"x.polex.dev/a"}},
		{ExpiryKeys: []string{"cosign.sigstore.dev/message"}}, {ExpiryKeys: []string{"cleanup.kyverno.io/ttl"}}, {ExpiryKeys: []string{"kyverno.io/a"}},
		{ExpiryKeys: make([]string, 17)},
		{Grandfathered: []lifetime.Grandfather{{Digest: "", Until: "2027-01-01"}}},
		{Grandfathered: []lifetime.Grandfather{{Digest: good[:len(good)-1], Until: "2027-01-01"}}},
		{Grandfathered: []lifetime.Grandfather{{Digest: good}}},
		{Grandfathered: []lifetime.Grandfather{{Digest: good, Until: "forever"}}},
		{Grandfathered: []lifetime.Grandfather{{Digest: good, Until: "2027-01-01"}, {Digest: "sha256:" + strings.Repeat("0A", 32), Until: "2028-01-01"}}},
	} {
		_, err := bad.Terms()
		expect.Error(t, err)
	}
	var keys []string
	for i := range 17 {
		keys = append(keys, fmt.Sprintf("acme.com/until-%d", i))
	}
	for count, want := range map[int]string{16: "", 17: "17 keys, expected at most 16"} {
		_, err := lifetime.Config{ExpiryKeys: keys[:count]}.Terms()
		expect.Outcome(t, err, want)
	}
	must.Get(lifetime.Config{ExpiryKeys: []string{"mypolex.dev/until", "expires"},
		Grandfathered: []lifetime.Grandfather{{Digest: good, Until: "2027-01-01"}}}.Terms())(t)
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
			ends(t, life, tc.want)
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
		must.Get(lifetime.Of(e, lifetime.Terms{}))(t)
	}
}
