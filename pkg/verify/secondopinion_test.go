package verify_test

import (
	"crypto/x509"
	"encoding/base64"
	"testing"
	"time"

	"github.com/sigstore/cosign/v2/pkg/cosign"
	"github.com/sigstore/cosign/v2/pkg/cosign/bundle"
	"github.com/sigstore/cosign/v2/pkg/oci/static"
	"github.com/sigstore/fulcio/pkg/certificate"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
)

// cosignSays asks cosign's own code about the first signature of a seal, under
// the same root and identity.
func cosignSays(t *testing.T, w *world, doc *exception.Document) error {
	t.Helper()
	root, err := trust.ParseRoot(w.root, "sandbox")
	if err != nil {
		t.Fatal(err)
	}
	s := readSeal(t, doc)
	sig := s.Signatures[0]
	b := &bundle.RekorBundle{SignedEntryTimestamp: sig.Bundle.SignedEntryTimestamp, Payload: bundle.RekorPayload{
		Body: sig.Bundle.Payload.Body, IntegratedTime: sig.Bundle.Payload.IntegratedTime, LogIndex: sig.Bundle.Payload.LogIndex, LogID: sig.Bundle.Payload.LogID}}
	signed, err := static.NewSignature(s.Message, base64.StdEncoding.EncodeToString(sig.Signature),
		static.WithBundle(b), static.WithCertChain(signerPEM(t, nil, sig.Certificate), nil))
	if err != nil {
		t.Fatal(err)
	}
	_, err = cosign.VerifyBlobSignature(t.Context(), signed, &cosign.CheckOpts{
		TrustedMaterial: root.Material(), Offline: true,
		Identities: []cosign.Identity{{Issuer: w.IssuerURL, Subject: subject}},
	})
	return err
}

// TestSecondOpinion: on what cosign has a say in, the two agree.
func TestSecondOpinion(t *testing.T) {
	w := inWorld(t)
	only := func(s set) maker {
		s.onlyOld = true
		return forged(s)
	}
	withoutClaims := func(c *trust.Config) { c.Authorities[0].Claims = nil }
	for _, tc := range []struct {
		name string
		doc  maker
		want bool
	}{
		{"honest", onlyOld(func(*seal.RekorBundle) {}), true},
		{"the control of the forgeries", only(set{}), true},
		{"1 self-signed", func(t *testing.T, w *world) *exception.Document {
			return w.sealed(t, w.until(week), set{onlyOld: true, certificate: w.selfIssue(t, nil)})
		}, false},
		{"5 another issuer", only(set{identity: func(e *certificate.Extensions) { e.Issuer = w.OtherIssuerURL }}), false},
		{"9 expired", only(set{at: w.now.Add(time.Hour)}), false},
		{"11 a suffix", only(set{fulcio: func(f *sandbox.Forgery) { f.Template.URIs[0] = address(t, subject+"-evil") }}), false},
		{"17 no SCT", only(set{fulcio: func(f *sandbox.Forgery) { f.WithoutSCT = true }}), false},
		{"18 promised by another", promisedByOther(false), false},
		{"19 index edited", onlyOld(func(b *seal.RekorBundle) { b.Payload.LogIndex++ }), false},
		{"24 garbage that the log vouches for", only(set{signature: []byte("x")}), false},
		{"7 for another purpose", only(set{fulcio: func(f *sandbox.Forgery) { f.Template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }}), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			doc := tc.doc(t, w)
			_, ours := w.verifier(t, withoutClaims, nil).Verify(doc, w.now)
			theirs := cosignSays(t, w, doc)
			if (ours == nil) != tc.want || (theirs == nil) != tc.want {
				t.Errorf("want it verified: %t; we say %v, cosign says %v", tc.want, ours, theirs)
			}
		})
	}
}
