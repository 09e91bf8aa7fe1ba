package sign_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

var signedAt = time.Date(2026, 3, 1, 10, 30, 15, 999, time.FixedZone("CET", 3600))

// edited returns one of the two documents with one replacement.
func edited(text, old, replacement string) string {
	if !strings.Contains(text, old) {
		panic("nothing to edit: " + old)
	}
	return strings.Replace(fmt.Sprintf(text, "a"), old, replacement, 1)
}

func TestPrepareRefuses(t *testing.T) {
	const expiresIn = "    polex.dev/expires-in: 7d\n"
	sealed := "    cosign.sigstore.dev/"
	for _, tc := range []struct {
		name, text string
		want       []string // "line reason"
	}{
		{"already sealed", edited(kyvernoText, expiresIn, expiresIn+sealed+"message: AAAA\n"+sealed+"signature: AAAA\n"), []string{"7 signature-present"}},
		{"half of a seal", edited(kyvernoText, expiresIn, expiresIn+sealed+"certificate_1: AAAA\n"), []string{"7 signature-present"}},
		{"reference to a bundle", edited(kyvernoText, expiresIn, expiresIn+sealed+"resourceBundleRef: ghcr.invalid/a/b:c\n"), []string{"7 signature-present"}},
		{"sealed with a number", edited(kyvernoText, expiresIn, expiresIn+sealed+"signature: 7\n"), []string{"7 signature-present"}},
		{"same identity", fmt.Sprintf(kyvernoText, "a") + "---\n" + fmt.Sprintf(kyvernoText, "a"), []string{"22 duplicate-identity"}},
		{"same identity in another version", fmt.Sprintf(kyvernoText, "a") + "---\n" + edited(kyvernoText, "kyverno.io/v2", "kyverno.io/v2beta1"), []string{"22 duplicate-identity"}},
		{"unknown field", edited(kyvernoText, "spec:\n", "spec:\n  podSelector: x\n"), []string{"11 unknown-field"}},
		{"null", edited(kyvernoText, "spec:\n", "spec:\n  background: null\n"), []string{"11 null-value"}},
		{"null without a word", edited(policiesText, "spec:\n", "spec:\n  images:\n"), []string{"9 null-value"}},
		{"wrong type", edited(kyvernoText, "spec:\n", "spec:\n  background: \"true\"\n"), []string{"11 wrong-type"}},
		{"no expiry", edited(kyvernoText, expiresIn, ""), []string{"4 no-expiry"}},
		{"no expiry, the other group", edited(policiesText, "  annotations:\n"+expiresIn, ""), []string{"3 no-expiry"}},
		{"duration and time", edited(kyvernoText, expiresIn, expiresIn+"    polex.dev/expires-at: 2026-12-31T00:00:00Z\n"), []string{"9 bad-lifetime"}},
		{"duration and native time", edited(policiesText, "spec:\n", "spec:\n  expiresAt: \"2026-12-31T00:00:00Z\"\n"), []string{"7 bad-lifetime"}},
		{"two times", edited(policiesText, expiresIn, "    polex.dev/expires-at: 2026-12-30T00:00:00Z\n") + "  expiresAt: \"2026-12-31T00:00:00Z\"\n", []string{"7 bad-lifetime"}},
		{"not a duration", edited(kyvernoText, "7d", "a week"), []string{"9 bad-lifetime"}},
		{"no time at all", edited(kyvernoText, "7d", "0d"), []string{"9 bad-lifetime"}},
		{"a label that counts from elsewhere", edited(kyvernoText, "  annotations:\n", "  labels: {cleanup.kyverno.io/ttl: 7d}\n  annotations:\n"), []string{"7 bad-lifetime"}},
		{"another kind that ends in the year 1", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    polex.dev/expires-at: \"0001-01-01T00:00:00Z\"\n", []string{"6 bad-lifetime"}},
		{"says when it was signed", edited(kyvernoText, expiresIn, expiresIn+"    polex.dev/signed-at: 2026-03-01T09:30:15Z\n"), []string{"10 bad-lifetime"}},
		{"starts when it is over", edited(kyvernoText, expiresIn, expiresIn+"    polex.dev/starts-at: 2026-03-08T09:30:15Z\n"), []string{"10 bad-lifetime"}},
		{"two of three", fmt.Sprintf(kyvernoText, "b") + "---\n" + edited(kyvernoText, expiresIn, "") + "---\n" + edited(policiesText, "7d", "7y"),
			[]string{"24 no-expiry", "46 bad-lifetime"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			prepared, err := sign.Prepare(parseAll(t, tc.text), signedAt, sign.Rules{})
			var refused exception.Refusals
			must.That(t, errors.As(err, &refused) && prepared == nil,
				"Prepare: %d documents, error %v, want refusals", len(prepared), err)
			var got []string
			for _, r := range refused {
				got = append(got, fmt.Sprintf("%d %s", r.Position.Line, r.Reason))
				if r.Message == "" || r.Position.File != "exception.yaml" || !strings.Contains(err.Error(), refused[0].Reason) {
					t.Errorf("incomplete refusal %+v in %q", r, err)
				}
			}
			expect.Equal(t, fmt.Sprintf("refusals of %v", err), tc.want, got)
		})
	}
}

// The expiry counts from the signing, and the API server's defaults are added: the live object
// equals the signed message.
func TestPrepareAdds(t *testing.T) {
	const at = "2026-03-08T09:30:15Z"
	for _, tc := range []struct {
		name, text, want string
	}{
		{"annotation", fmt.Sprintf(kyvernoText, "a"),
			edited(kyvernoText, "  annotations:\n", "  annotations:\n    polex.dev/expires-at: \""+at+"\"\n")},
		{"native fields", fmt.Sprintf(policiesText, "a"),
			edited(policiesText, "spec:\n", "spec:\n  reportResult: skip\n  expiresAt: \""+at+"\"\n")},
		{"what is said is kept", edited(policiesText, "spec:\n", "spec:\n  reportResult: pass\n"),
			edited(policiesText, "spec:\n", "spec:\n  expiresAt: \""+at+"\"\n  reportResult: pass\n")},
		{"a time is kept", edited(kyvernoText, "polex.dev/expires-in: 7d", "polex.dev/expires-at: 2026-04-01T00:00:00Z"),
			edited(kyvernoText, "polex.dev/expires-in: 7d", "polex.dev/expires-at: 2026-04-01T00:00:00Z")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			prepared := must.Get(sign.Prepare(parseAll(t, tc.text), signedAt, sign.Rules{}))(t)
			expect.Equal(t, "source", tc.want, string(prepared[0].Source()))
		})
	}
}

// With this setting, the expiry is also a label, beside existing ones.
func TestPrepareLabel(t *testing.T) {
	const annotations, label = "  annotations:\n", "cleanup.kyverno.io/ttl: \"2026-03-08T093015Z\"\n"
	end := "    polex.dev/expires-at: \"2026-03-08T09:30:15Z\"\n"
	for _, tc := range []struct{ name, text, want string }{
		{"the first label", fmt.Sprintf(kyvernoText, "a"), edited(kyvernoText, annotations, "  labels:\n    "+label+annotations+end)},
		{"one of two", edited(kyvernoText, annotations, "  labels:\n    team: a\n"+annotations),
			edited(kyvernoText, annotations, "  labels:\n    "+label+"    team: a\n"+annotations+end)},
		{"of the other group", fmt.Sprintf(policiesText, "a"),
			edited(policiesText, "spec:\n", "spec:\n  reportResult: skip\n  expiresAt: \"2026-03-08T09:30:15Z\"\n")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			prepared := must.Get(sign.Prepare(parseAll(t, tc.text), signedAt, sign.Rules{TTLLabel: true}))(t)
			want := parseAll(t, tc.want)[0].Object()
			expect.Equal(t, string(prepared[0].Source()), want, prepared[0].Object())
		})
	}
}

func TestPrepareUnbounded(t *testing.T) {
	text := edited(kyvernoText, "    polex.dev/expires-in: 7d\n", "")
	prepared := must.Get(sign.Prepare(parseAll(t, text), signedAt, sign.Rules{InsecureAllowUnbounded: true}))(t)
	expect.Equal(t, "source", text, string(prepared[0].Source()))
}

// An object that is not an exception is signed unchanged: it has no lifetime to convert.
func TestPrepareOtherKind(t *testing.T) {
	const text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
	prepared := must.Get(sign.Prepare([]*exception.Document{parse(t, text)}, signedAt, sign.Rules{}))(t)
	expect.Equal(t, "source", text, string(prepared[0].Source()))
}
