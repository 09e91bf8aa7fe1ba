package verify_test

import (
	"crypto/ecdsa"
	"crypto/x509"
	"slices"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// TestRemembering gives one Verifier every case of its policy and root, forwards,
// backwards and again: no verdict depends on what was verified before.
func TestRemembering(t *testing.T) {
	w := inWorld(t)
	v := w.verifier(t, nil, nil)
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
		t.Run(tc.name, func(t *testing.T) { judge(t, v, tc.doc(t, w), w.now.Add(tc.after), tc.want) })
	}
}

// TestRememberedForItsTimeAlone: that a certificate was good at one time says
// nothing of another, nor of another certificate for its key.
func TestRememberedForItsTimeAlone(t *testing.T) {
	w := inWorld(t)
	v := w.verifier(t, nil, nil)
	key := newKey(t)
	der, err := w.ForgeCertificate(t.Context(), w.forgery(t, key, nil))
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	same := func(at time.Time) *exception.Document {
		return w.sealed(t, w.until(week), set{key: key, at: at, certificate: func(*ecdsa.PrivateKey) []byte { return der }})
	}
	selfMade := w.sealed(t, w.until(week), set{key: key, certificate: w.selfIssue(t, nil)})
	noSCT := w.forgery(t, key, nil)
	noSCT.WithoutSCT = true
	unlogged, err := w.ForgeCertificate(t.Context(), noSCT)
	if err != nil {
		t.Fatal(err)
	}
	good := same(w.now)
	ending := w.verifier(t, nil, func(root object) {
		dig(t, root, "certificateAuthorities", 0, "validFor")["end"] = w.now.Add(time.Minute).UTC().Format(time.RFC3339)
	})
	for range 2 {
		judge(t, ending, good, w.now, "")
		judge(t, ending, same(w.now.Add(2*time.Minute)), w.now, verify.ReasonUntrustedCertificate)
		judge(t, v, good, w.now, "")
		judge(t, v, same(cert.NotAfter), w.now, "")
		judge(t, v, same(cert.NotAfter.Add(time.Second)), w.now.Add(time.Hour), verify.ReasonCertificateNotValid)
		judge(t, v, same(cert.NotBefore.Add(-time.Second)), w.now, verify.ReasonCertificateNotValid)
		judge(t, v, selfMade, w.now, verify.ReasonUntrustedCertificate)
		judge(t, v, w.sealed(t, w.until(week), set{key: key, certificate: func(*ecdsa.PrivateKey) []byte { return unlogged }}), w.now, verify.ReasonNoSCT)
	}
}
