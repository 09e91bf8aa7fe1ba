package lifetime_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/test/expect"
)

func parsed(t *testing.T, text string) *exception.Document {
	t.Helper()
	return expect.Value(exception.Parse([]byte(text), "test.yaml"))(t)
}

// TestKeys: a team's own keys state an expiry at every place of an exception. Their values are
// never ignored.
func TestKeys(t *testing.T) {
	terms := expect.Value(lifetime.Config{ExpiryKeys: []string{"acme.com/expires", "until"}}.Terms())(t)
	for _, tc := range []struct{ name, group, metadata, spec, want, wrong string }{
		{"an annotation", "kyverno.io/v2", `annotations: {acme.com/expires: "2026-12-31T17:00:00+01:00"}`, "", "2026-12-31T16:00:00Z", ""},
		{"a date", "kyverno.io/v2", `annotations: {acme.com/expires: "2026-12-31"}`, "", "2026-12-31T00:00:00Z", ""},
		{"a label", "kyverno.io/v2", `labels: {until: "2026-12-31"}`, "", "2026-12-31T00:00:00Z", ""},
		{"a property", "policies.kyverno.io/v1", "", `properties: {until: "2026-12-31"}`, "2026-12-31T00:00:00Z", ""},
		{"a property of a kind without properties", "kyverno.io/v2", "", `properties: {until: "2026-12-31"}`, "", ""},
		{"the earliest of all", "policies.kyverno.io/v1", `labels: {until: "2026-12-30", cleanup.kyverno.io/ttl: "2026-12-31"}, annotations: {acme.com/expires: "2026-12-29"}`,
			`properties: {until: "2026-12-28"}, expiresAt: "2027-01-01T00:00:00Z"`, "2026-12-28T00:00:00Z", ""},
		{"in other letters", "kyverno.io/v2", `annotations: {Acme.com/expires: "2026-12-31"}`, "", "", ""},
		{"a word", "kyverno.io/v2", `annotations: {acme.com/expires: "Q4"}`, "", "", `metadata.annotations["acme.com/expires"]`},
		{"a number", "kyverno.io/v2", `annotations: {polex.dev/expires-at: "2026-12-31T17:00:00Z", until: 2026}`, "", "", `metadata.annotations.until`},
		{"an empty text", "kyverno.io/v2", `labels: {until: ""}`, "", "", `metadata.labels.until`},
		{"before 1970", "kyverno.io/v2", `labels: {until: "1969-12-31"}`, "", "", `metadata.labels.until`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			doc := parsed(t, fmt.Sprintf("apiVersion: %s\nkind: PolicyException\nmetadata: {name: a, %s}\nspec: {%s}\n", tc.group, strings.TrimSuffix(tc.metadata, ", "), tc.spec))
			life, err := lifetime.Of(doc, terms)
			wrongAt(t, err, tc.wrong)
			ends(t, life, tc.want)
		})
	}
	other := parsed(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {until: never, cleanup.kyverno.io/ttl: 1h}}\n")
	ends(t, expect.Value(lifetime.Of(other, terms))(t), "") // a document of another kind
}

// ends compares the expiry, "" for none.
func ends(t *testing.T, life lifetime.Lifetime, want string) {
	t.Helper()
	if got := life.ExpiresAt; want != "" && !got.Equal(at(want)) || want == "" && !got.IsZero() {
		t.Errorf("it ends at %s, want %q", got, want)
	}
}

// TestGrandfathered: an entry sets the expiry of the exception with that digest, if the exception
// states none.
func TestGrandfathered(t *testing.T) {
	const text = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: a, namespace: b}\nspec: {exceptions: [{policyName: p, ruleNames: [r]}]}\n"
	digest := lifetime.ContentDigest(parsed(t, text))
	listed := []lifetime.Grandfather{{Digest: digest, Until: "2027-03-31"}}
	terms := expect.Value(lifetime.Config{Grandfathered: listed}.Terms())(t)
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
			ends(t, expect.Value(lifetime.Of(doc, terms))(t), tc.want)
		})
	}
	// Signing writes the expiry into the exception, so that it no longer needs the entry.
	for _, apiVersion := range []string{"kyverno.io/v2", "policies.kyverno.io/v1"} {
		doc := parsed(t, strings.Replace(text, "kyverno.io/v2", apiVersion, 1))
		given := lifetime.Terms{Grandfathered: terms.Grandfathered}
		given.Grandfathered[lifetime.ContentDigest(doc)] = at(until)
		added := expect.Value(lifetime.Resolve(doc, at("2026-11-23T00:00:00Z"), false, given))(t)
		expect.Is(t, "additions to "+apiVersion, 1, len(added))
		expect.Is(t, apiVersion, until, added[0].Value)
		signed := expect.Value(doc.Add(added...))(t)
		ends(t, expect.Value(lifetime.Of(signed, lifetime.Terms{}))(t), until)
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
	expect.Value(lifetime.Config{ExpiryKeys: []string{"mypolex.dev/until", "expires"},
		Grandfathered: []lifetime.Grandfather{{Digest: good, Until: "2027-01-01"}}}.Terms())(t)
}
