package promotion_test

import (
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

const (
	oldRequest = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: a
  namespace: team-a
  annotations:
    polex.dev/expires-in: 7d
spec:
  exceptions:
  - policyName: p
    ruleNames: [r]
  match: {any: [{resources: {kinds: [Pod]}}]}
`
	newRequest = `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata:
  name: a
  namespace: team-a
  annotations:
    polex.dev/expires-in: 7d
spec:
  policyRefs:
  - {name: p, kind: ValidatingPolicy}
`
	bareRequest = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: a
  namespace: team-a
spec:
  exceptions:
  - policyName: p
    ruleNames: [r]
`
	// datedRequest states its expiry under a key of the team.
	datedRequest = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: a
  labels: {until: "2026-03-08"}
spec: {}
`
)

// TestDiffers: the signed message equals the request, except for the fields that signing adds.
func TestDiffers(t *testing.T) {
	witnessed := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const expiry = "    polex.dev/expires-at: \"2026-03-08T12:00:00Z\"\n"
	const label = "  labels: {cleanup.kyverno.io/ttl: 2026-03-08T120000Z}\n"
	atAnnotations, atName, atSpec := "  annotations:\n", "  name: a\n", "spec:\n"
	for _, tc := range []struct {
		name    string
		request string
		changes []string // pairs of old and new text
		want    string   // "" if it equals the request
	}{
		{"its duration became a time", oldRequest, []string{atAnnotations, atAnnotations + expiry}, ""},
		{"likewise, as the native field, with a default", newRequest, []string{atSpec, atSpec + "  expiresAt: \"2026-03-08T12:00:00Z\"\n  reportResult: skip\n"}, ""},
		{"with the record of the review", oldRequest, []string{atAnnotations, atAnnotations + expiry +
			"    polex.dev/requested-by: ann\n    polex.dev/approved-by: bob\n    polex.dev/pull-request: https://example.com/1\n    polex.dev/merge-commit: abc\n"}, ""},
		{"where there were no annotations", bareRequest, []string{atName, atName + "  annotations: {polex.dev/approved-by: bob}\n"}, ""},
		{"the record as a native property", newRequest, []string{atSpec, atSpec + "  expiresAt: \"2026-03-08T12:00:00Z\"\n  reportResult: skip\n  properties: {approved-by: bob}\n"}, ""},
		{"its end as a label", oldRequest, []string{atAnnotations, atAnnotations + expiry, atName, atName + label}, ""},
		{"a shorter life", oldRequest, []string{atAnnotations, atAnnotations + "    polex.dev/expires-at: \"2026-03-02T12:00:00Z\"\n"}, ""},

		{"a later end beside the one that was asked for", datedRequest, []string{atName, atName + "  annotations: {polex.dev/expires-at: \"2036-03-08T12:00:00Z\"}\n"}, "metadata.annotations"},
		{"a longer life", oldRequest, []string{atAnnotations, atAnnotations + "    polex.dev/expires-at: \"2026-03-08T12:06:00Z\"\n"}, "signed document expires at"},
		{"with when it was signed", oldRequest, []string{atAnnotations, atAnnotations + expiry + "    polex.dev/signed-at: \"2026-03-01T12:00:00Z\"\n"}, ""},
		{"witnessed again later", oldRequest, []string{atAnnotations, atAnnotations + expiry + "    polex.dev/signed-at: \"2026-02-20T12:00:00Z\"\n"}, "and the signed document expires at"},
		{"no end", oldRequest, nil, "has no expiry time"},
		{"an end that nobody asked for", bareRequest, []string{atName, atName + "  annotations: {polex.dev/expires-at: \"2026-03-08T12:00:00Z\"}\n"}, "the request has no duration"},
		{"another end as a label", oldRequest, []string{atAnnotations, atAnnotations + expiry, atName, atName + strings.Replace(label, "08", "07", 1)}, "metadata.labels"},
		{"an end as a label alone", bareRequest, []string{atName, atName + label}, "the request has no duration"},
		{"its end as a label, where a key of one's own states it", datedRequest, []string{"until:", "cleanup.kyverno.io/ttl: 2026-03-08T000000Z, until:"}, ""},
		{"another end as a label, where a key of one's own states it", datedRequest, []string{"until:", "cleanup.kyverno.io/ttl: \"2026-03-09\", until:"}, "metadata.labels"},
		{"a label that the group does not get", newRequest, []string{atName, atName + label, atSpec, atSpec + "  expiresAt: \"2026-03-08T12:00:00Z\"\n  reportResult: skip\n"}, "labels"},
		{"the end at the wrong place", newRequest, []string{atAnnotations, atAnnotations + expiry, atSpec, atSpec + "  reportResult: skip\n"}, "expires-at"},
		{"without the default", newRequest, []string{atSpec, atSpec + "  expiresAt: \"2026-03-08T12:00:00Z\"\n"}, "reportResult"},
		{"another default", newRequest, []string{atSpec, atSpec + "  expiresAt: \"2026-03-08T12:00:00Z\"\n  reportResult: pass\n"}, "reportResult"},
		{"one annotation more", oldRequest, []string{atAnnotations, atAnnotations + expiry + "    polex.dev/reason: because\n"}, "polex.dev/reason"},
		{"an annotation of that name elsewhere", oldRequest, []string{atAnnotations, atAnnotations + expiry, atName, atName + "  labels: {polex.dev/approved-by: bob}\n"}, "labels"},
		{"a property more", newRequest, []string{atSpec, atSpec + "  expiresAt: \"2026-03-08T12:00:00Z\"\n  reportResult: skip\n  properties: {reason: x}\n"}, "properties"},
		{"wider", oldRequest, []string{atAnnotations, atAnnotations + expiry, "[Pod]", "[Pod, Deployment]"}, "kinds"},
		{"what a cluster adds", oldRequest, []string{atAnnotations, atAnnotations + expiry, atName, atName + "  uid: x\n"}, "only a cluster adds"},
		{"what a tool adds", oldRequest, []string{atAnnotations, atAnnotations + expiry, atName, atName + "  labels: {app.kubernetes.io/instance: x}\n"}, "only a cluster adds"},
		{"another type", oldRequest, []string{atAnnotations, atAnnotations + expiry, "ruleNames: [r]", "ruleNames: r"}, "ruleNames"},
		{"another version", oldRequest, []string{atAnnotations, atAnnotations + expiry, "kyverno.io/v2", "kyverno.io/v2beta1"}, "apiVersion"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked, signed := tc.request, tc.request
			for i := 0; i+1 < len(tc.changes); i += 2 {
				must.That(t, strings.Contains(signed, tc.changes[i]), "there is no %q", tc.changes[i])
				signed = strings.Replace(signed, tc.changes[i], tc.changes[i+1], 1)
			}
			got := promotion.Differs(parse(t, asked), parse(t, signed), witnessed, lifetime.Terms{Keys: []string{"until"}})
			expect.That(t, (got == "") == (tc.want == "") && strings.Contains(got, tc.want),
				"%q, want %q", got, tc.want)
		})
	}
	// Record fields in the request itself are compared.
	claims := strings.Replace(bareRequest, atName, atName+"  annotations: {polex.dev/approved-by: ann}\n", 1)
	if got := promotion.Differs(parse(t, claims), parse(t, strings.Replace(claims, "ann}", "bob}", 1)), witnessed, lifetime.Terms{}); got == "" {
		t.Error("another approver than the request says")
	}
}

func parse(tb testing.TB, text string) *exception.Document {
	tb.Helper()
	return must.Get(exception.Parse([]byte(text), "a.yaml"))(tb)
}
