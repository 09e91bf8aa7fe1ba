package verify_test

import (
	"crypto/ecdsa"
	"crypto/x509"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestRemembering verifies every case of its policy and root with one Verifier, forwards, backwards
// and again. No verdict depends on earlier ones.
func TestRemembering(t *testing.T) {
	w := inWorld(t)
	v, signatures := w.verifier(t, nil, nil), w.verifier(t, nil, nil)
	signatures.Remember(nil)
	var cases []verdict
	for _, tc := range verdicts(w) {
		if tc.policy == nil && tc.root == nil && tc.file == nil {
			doc := tc.doc(t, w)
			tc.doc = func(*testing.T, *world) *exception.Document { return doc }
			cases = append(cases, tc)
		}
	}
	backwards := slices.Clone(cases)
	slices.Reverse(backwards)
	for _, tc := range slices.Concat(cases, backwards, cases) {
		t.Run(tc.name, func(t *testing.T) {
			judge(t, v, tc.doc(t, w), w.now.Add(tc.after), tc.want)
			judge(t, signatures, tc.doc(t, w), w.now.Add(tc.after), tc.want)
		})
	}
}

// TestRememberedUnderItsRoot: a verified signature is remembered for another trust policy with the
// same root, and that policy decides everything else. It is not remembered for another root.
func TestRememberedUnderItsRoot(t *testing.T) {
	w := inWorld(t)
	before := w.verifier(t, nil, nil)
	before.Remember(nil)
	judge(t, before, w.honest, w.now, "")
	for name, tc := range map[string]struct {
		policy func(*trust.Config)
		root   func(object)
		known  int
		want   string
	}{
		"the same policy":              {nil, nil, 1, ""},
		"another signer":               {func(c *trust.Config) { c.Authorities[0].Subject = "https://example.com/another" }, nil, 1, verify.ReasonWrongIdentity},
		"a shorter lifetime":           {atMost("1h"), nil, 1, verify.ReasonLifetimeTooLong},
		"without the kind":             {kinds("ConfigMap"), nil, 1, verify.ReasonKindNotAllowed},
		"an authority ended":           {nil, window("certificateAuthorities", 0, "end", w.now.Add(-week)), 0, verify.ReasonUntrustedCertificate},
		"an authority that ends later": {nil, window("certificateAuthorities", 0, "end", w.now.Add(1000*week)), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := w.verifier(t, tc.policy, tc.root)
			v.Remember(before)
			expect.Is(t, "signatures", tc.known, v.Proven())
			judge(t, v, w.honest, w.now, tc.want)
		})
	}
}

// TestRememberedTimestamps: the timestamps of a remembered signature count like those of a new one.
func TestRememberedTimestamps(t *testing.T) {
	w := inWorld(t)
	stamps := []time.Time{w.now, w.now}
	message, doc := []byte(w.until(week)), parse(t, w.until(week))
	trusted, stranger := w.sign(t, message, set{stamps: stamps}), w.sign(t, message, set{identity: w.otherIssuer, stamps: stamps[:1]})
	signed := func(signatures ...seal.Signature) *exception.Document {
		return attach(t, doc, &seal.Seal{Message: message, Signatures: signatures})
	}
	v := w.verifier(t, nil, nil)
	v.Remember(nil)
	judge(t, v, signed(trusted, stranger), w.now, verify.ReasonWrongIdentity)
	judge(t, v, signed(trusted), w.now, "")
	judge(t, v, signed(trusted, stranger), w.now, verify.ReasonWrongIdentity)
}

// TestRememberedIsNobodysElse: changing one answer does not change another one.
func TestRememberedIsNobodysElse(t *testing.T) {
	w := inWorld(t)
	v := w.verifier(t, nil, nil)
	v.Remember(nil)
	var said []string
	for range 3 {
		verified := must.Get(v.Verify(w.honest, w.now))(t)
		s := verified.Signatures()[0]
		said = append(said, fmt.Sprint(s.Checked, s.Witnesses, s.WitnessedAt, s.LogURL, s.LogIndex, s.Identity, s.Certificate))
		clear(s.Checked)
		clear(s.Witnesses)
	}
	expect.That(t, v.Proven() == 1 && said[1] == said[0] && said[2] == said[0],
		"%d are remembered: %q", v.Proven(), said)
}

// TestRememberedForItsTimeAlone: a certificate that is valid at one time is not accepted for
// another time. Nor is another certificate for its key.
func TestRememberedForItsTimeAlone(t *testing.T) {
	w := inWorld(t)
	v := w.verifier(t, nil, nil)
	key := newKey(t)
	der := must.Get(w.ForgeCertificate(t.Context(), w.forgery(t, key, nil)))(t)
	cert := must.Get(x509.ParseCertificate(der))(t)
	same := func(at time.Time) *exception.Document {
		return forged(set{key: key, at: at, certificate: func(*ecdsa.PrivateKey) []byte { return der }})(t, w)
	}
	selfMade, unlogged := selfSignedBy(key)(t, w), forged(set{key: key, fulcio: noSCT})(t, w)
	good := same(w.now)
	ending := w.verifier(t, nil, window("certificateAuthorities", 0, "end", w.now.Add(time.Minute)))
	for range 2 {
		judge(t, ending, good, w.now, "")
		judge(t, ending, same(w.now.Add(2*time.Minute)), w.now, verify.ReasonUntrustedCertificate)
		judge(t, v, good, w.now, "")
		judge(t, v, same(cert.NotAfter), w.now, "")
		judge(t, v, same(cert.NotAfter.Add(time.Second)), w.now.Add(time.Hour), verify.ReasonCertificateNotValid)
		judge(t, v, same(cert.NotBefore.Add(-time.Second)), w.now, verify.ReasonCertificateNotValid)
		judge(t, v, selfMade, w.now, verify.ReasonUntrustedCertificate)
		judge(t, v, unlogged, w.now, verify.ReasonNoSCT)
	}
}
