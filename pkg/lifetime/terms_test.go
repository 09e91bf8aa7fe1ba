package lifetime_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

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
