package verify_test

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// afterEvidence are the reasons after the verification of every signature.
var afterEvidence = []string{verify.ReasonBadMessage, verify.ReasonWrongIdentity, verify.ReasonTooFewAuthorities, verify.ReasonBeyondLimits,
	verify.ReasonRenewalNotAllowed, verify.ReasonAltered, verify.ReasonBadLifetime,
	verify.ReasonNoExpiry, verify.ReasonExpired, verify.ReasonLifetimeTooLong, verify.ReasonNotYetValid, verify.ReasonSignedInFuture, verify.ReasonWithdrawn}

// checkFacts: the facts of a rejection are exactly the verified ones.
func checkFacts(t *testing.T, doc *exception.Document, rejected *verify.Rejected) {
	t.Helper()
	facts := rejected.Facts
	s, err := seal.Read(doc)
	if err != nil {
		s = &seal.Seal{}
	}
	if len(facts.Signatures) == 0 {
		early := rejected.Reason == verify.ReasonWrongIdentity && len(s.Signatures) > 1
		if !cmp.Equal(facts, verify.Facts{}) || slices.Contains(afterEvidence, rejected.Reason) && !early {
			t.Errorf("%s: no signature was verified, and there are the facts %+v", rejected.Reason, facts)
		}
		return
	}
	after := slices.Contains(afterEvidence, rejected.Reason) || rejected.Reason == verify.ReasonNoWitnessedTime
	if after != (len(facts.Signatures) == len(s.Signatures)) {
		t.Errorf("%s, with %d of %d signatures verified", rejected.Reason, len(facts.Signatures), len(s.Signatures))
	}
	expect.Is(t, "the digest of the message", sum(s.Message), facts.MessageDigest)
	for i, signature := range facts.Signatures {
		expect.That(t, (s.Signatures[i].Certificate == nil) == (signature.Certificate == verify.Certificate{}),
			"signature %d: %+v", i, signature.Certificate)
		if raw := s.Signatures[i].Certificate; raw != nil && signature.Certificate.Fingerprint != sum(raw) {
			t.Errorf("signature %d: the certificate is %s", i, signature.Certificate.Fingerprint)
		}
	}
}

func sum(raw []byte) string {
	digest := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(digest[:])
}

// TestFacts compares the facts of a document with the known values.
func TestFacts(t *testing.T) {
	w := inWorld(t)
	s := readSeal(t, w.honest)
	cert := certificateOf(t, s.Signatures[0])
	signedAt := time.Unix(s.Signatures[0].Bundle.Payload.IntegratedTime, 0)
	expires := must.Get(time.Parse(
		time.RFC3339, parse(t, string(s.Message)).Annotation(exception.AnnotationExpiresAt)))(t)
	signature := verify.Signature{
		Authority: "merge", WitnessedAt: signedAt, LogURL: w.RekorURL, LogIndex: s.Signatures[0].Bundle.Payload.LogIndex,
		Identity:    trust.Identity{Issuer: w.IssuerURL, Subject: subject, Type: "uri"},
		Witnesses:   []verify.Witness{{Kind: verify.WitnessLog, URL: w.RekorURL, At: signedAt}},
		Certificate: verify.Certificate{Fingerprint: sum(s.Signatures[0].Certificate), NotBefore: cert.NotBefore, NotAfter: cert.NotAfter},
		Checked:     []string{"certificate-chain", "sct", "signed-entry-timestamp", "inclusion-proof"},
	}
	everything := verify.Facts{MessageDigest: sum(s.Message), Signatures: []verify.Signature{signature}, ExpiresAt: expires}
	nobody := everything
	nobody.ExpiresAt, nobody.Signatures = time.Time{}, []verify.Signature{signature}
	nobody.Signatures[0].Authority = ""
	counted := everything
	counted.ExpiresAt = time.Time{}

	for name, tc := range map[string]struct {
		doc    maker
		policy func(*trust.Config)
		after  time.Duration
		reason string
		want   verify.Facts
	}{
		"verified": {doc: honest, want: everything},
		"expired":  {doc: honest, after: 8 * day, reason: verify.ReasonExpired, want: everything},
		"withdrawn": {doc: honest, reason: verify.ReasonWithdrawn, want: everything,
			policy: func(c *trust.Config) { c.Revoked = []trust.RevocationConfig{{MessageDigest: sum(s.Message)}} }},
		"too long":      {doc: honest, reason: verify.ReasonLifetimeTooLong, want: everything, policy: func(c *trust.Config) { c.MaxLifetime = "1d" }},
		"altered":       {doc: changed(func(t *testing.T, root object) { dig(t, root, "metadata")["name"] = "other" }), reason: verify.ReasonAltered, want: counted},
		"by a stranger": {doc: honest, reason: verify.ReasonWrongIdentity, want: nobody, policy: func(c *trust.Config) { c.Authorities[0].Subject += "x" }},
		"unsigned":      {doc: func(t *testing.T, w *world) *exception.Document { return parse(t, w.until(week)) }, reason: verify.ReasonUnsigned},
		"bad signature": {doc: forged(set{signature: []byte("x")}), reason: verify.ReasonBadSignature},
	} {
		t.Run(name, func(t *testing.T) {
			verified, err := w.verifier(t, tc.policy, nil).Verify(tc.doc(t, w), w.now.Add(tc.after))
			var got verify.Facts
			if rejected := answers(t, verified, err, tc.reason); rejected != nil {
				got = rejected.Facts
			} else {
				got = verified.Facts()
			}
			expect.Equal(t, "facts", tc.want, got, cmpopts.IgnoreFields(trust.Identity{}, "Claims"),
				cmpopts.IgnoreUnexported(verify.Signature{}), cmpopts.EquateApproxTime(0))
			for _, signature := range got.Signatures {
				if signature.Identity.Claims["buildTrigger"] != "push" || signature.Identity.Claims["runInvocationURI"] == "" {
					t.Errorf("claims: %q", signature.Identity.Claims)
				}
			}
		})
	}
}

// TestFactsOfSome: if one of several signatures is invalid, the facts are those of the ones before
// it, and no signature has an authority.
func TestFactsOfSome(t *testing.T) {
	w := inWorld(t)
	verified, err := w.verifier(t, nil, nil).Verify(forged(set{stamps: []time.Time{w.now}}, set{signature: []byte("x")})(t, w), w.now)
	rejected := answers(t, verified, err, verify.ReasonBadSignature)
	if rejected == nil || len(rejected.Facts.Signatures) != 1 {
		t.Fatal(err)
	}
	only := rejected.Facts.Signatures[0]
	if only.Authority != "" || only.Identity.Subject != subject || !rejected.Facts.ExpiresAt.IsZero() {
		t.Errorf("%+v", rejected.Facts)
	}
	if len(only.Witnesses) != 2 || only.Witnesses[1].Kind != verify.WitnessTimestamp || only.Witnesses[0].Kind != verify.WitnessLog {
		t.Errorf("the witnesses are %+v", only.Witnesses)
	}
}
