package verify

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"slices"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
)

// evidenceVerifier verifies the evidence for one kind of signer: all certificates of Fulcio, or one
// public key.
type evidenceVerifier struct {
	root     *trust.Root
	material sgroot.TrustedMaterial
	library  *sgverify.Verifier
	scts     bool // certificates need an SCT
	// proven holds the verified evidence, by digestOfSet; nil means that nothing is remembered.
	proven *memory[[sha256.Size]byte, proven]

	authority  *trust.Authority // the first authority that has the key; nil for certificates
	withoutLog bool             // one of the authorities that have the key needs no log
	key        signature.Verifier
	digest     [sha256.Size]byte // of the key, DER
}

func newKeylessVerifier(root *trust.Root) (*evidenceVerifier, error) {
	options := []sgverify.VerifierOption{sgverify.WithObserverTimestamps(1)}
	if root.Logs() {
		options = append(options, sgverify.WithTransparencyLog(1))
	}
	// The certificate authorities in this material check the SCT, so the memory of certificates
	// covers it.
	library, err := sgverify.NewVerifier(newRememberingMaterial(root), options...)
	return &evidenceVerifier{root: root, material: root.Material(), library: library, scts: root.LogsCertificates()}, err
}

// keyMaterial is the trusted root with one key of the trust policy. It ignores the key hint in a
// bundle: only the trust policy selects keys.
type keyMaterial struct {
	sgroot.TrustedMaterial
	key *sgroot.ExpiringKey
}

// PublicKeyVerifier returns the one key.
func (m keyMaterial) PublicKeyVerifier(string) (sgroot.TimeConstrainedVerifier, error) {
	return m.key, nil
}

func newKeyVerifier(root *trust.Root, a *trust.Authority) (*evidenceVerifier, error) {
	key, err := signature.LoadVerifier(a.Key(), crypto.SHA256)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(a.Key())
	if err != nil {
		return nil, err
	}
	v := &evidenceVerifier{root: root, authority: a, withoutLog: a.WithoutLog(), key: key, digest: sha256.Sum256(der),
		material: keyMaterial{root.Material(), sgroot.NewExpiringKey(key, time.Time{}, time.Time{})}}
	if root.Logs() {
		v.library, err = sgverify.NewVerifier(v.material, sgverify.WithTransparencyLog(1), sgverify.WithObserverTimestamps(1))
	}
	return v, err
}

// signature verifies one signature set and returns its signer and evidence.
func (v *Verifier) signature(message []byte, s seal.Signature) (Signature, error) {
	if s.Certificate == nil {
		return v.keyed(message, s)
	}
	cert, err := readCertificate(s.Certificate)
	if err != nil {
		return Signature{}, err
	}
	if v.keyless == nil {
		return Signature{}, reject(ReasonUntrustedCertificate, "the trusted root (%s) names no issuer of certificates", v.policy.Root().Source())
	}
	id, err := IdentityOf(cert)
	if err != nil {
		return Signature{}, rejectCause(ReasonBadCertificate, err, "the certificate is not one of Fulcio's: %s", err)
	}
	key, err := signature.LoadVerifier(cert.PublicKey, crypto.SHA256)
	if err != nil {
		return Signature{}, rejectCause(ReasonBadCertificate, err, "the certificate's key cannot be used: %s", err)
	}
	out, err := v.keyless.verify(message, s, key, cert)
	if err != nil {
		return Signature{}, err
	}
	out.Identity, out.Certificate, out.keyDigest = id, certificateOf(cert), sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return out, nil
}

// keyed verifies a signature without a certificate: it finds the key in the trust policy.
func (v *Verifier) keyed(message []byte, s seal.Signature) (Signature, error) {
	for _, k := range v.keys {
		if k.key.VerifySignature(bytes.NewReader(s.Signature), bytes.NewReader(message)) != nil {
			continue
		}
		if s.Bundle == nil && s.BundleV03 == nil && k.withoutLog {
			return Signature{LogIndex: -1, Checked: []string{"public-key"}, key: k.authority, keyDigest: k.digest, unlogged: true}, nil
		}
		if k.library == nil {
			return Signature{}, reject(ReasonUnprovenLogEntry, "the trusted root lists no transparency log for the entry")
		}
		out, err := k.verify(message, s, k.key, nil)
		if err != nil {
			return Signature{}, err
		}
		out.key, out.keyDigest = k.authority, k.digest
		return out, nil
	}
	return Signature{}, reject(ReasonUnknownKey, "the signature has no certificate, and no key in the trust policy made it")
}

// verify returns the verified evidence of one signature, from memory if it has the same bytes.
func (e *evidenceVerifier) verify(message []byte, s seal.Signature, key signature.Verifier, cert *x509.Certificate) (Signature, error) {
	if e.proven == nil {
		return e.verifyAnew(message, s, key, cert)
	}
	set := digestOfSet(message, s)
	if known, is := e.proven.get(set); is {
		return known.signature(), nil
	}
	out, err := e.verifyAnew(message, s, key, cert)
	if err == nil {
		e.proven.keep(set, provenOf(out), maxProven)
	}
	return out, err
}

// verifyAnew checks the evidence of one signature with the checks of this package and with
// sigstore-go. Both must accept it.
func (e *evidenceVerifier) verifyAnew(message []byte, s seal.Signature, key signature.Verifier, cert *x509.Certificate) (Signature, error) {
	pb, err := evidenceOf(message, s)
	if errors.Is(err, errNoEntry) {
		return Signature{}, reject(ReasonNoLogEntry, "%s", errNoEntry)
	}
	if err != nil {
		return Signature{}, err
	}
	pub, err := key.PublicKey()
	if err != nil {
		return Signature{}, rejectCause(ReasonBadCertificate, err, "its key cannot be used: %s", err)
	}
	entries := pb.GetVerificationMaterial().GetTlogEntries()
	if e.root.Logs() || len(entries) > 0 {
		if err := checkEntries(entries, message, s.Signature, s.Certificate, pub); err != nil {
			return Signature{}, err
		}
	}
	if err := key.VerifySignature(bytes.NewReader(s.Signature), bytes.NewReader(message)); err != nil {
		return Signature{}, rejectCause(ReasonBadSignature, err, "the signature is not over this message by this key")
	}
	entity, err := entityOf(pb, cert)
	if err != nil {
		return Signature{}, err
	}
	result, err := e.library.Verify(entity, sgverify.NewPolicy(sgverify.WithArtifact(bytes.NewReader(message)), sgverify.WithoutIdentitiesUnsafe()))
	if err != nil {
		return Signature{}, e.diagnose(entity, cert, err)
	}
	for _, entry := range entries {
		if err := checkProof(entry); err != nil {
			return Signature{}, err
		}
	}
	if err := e.checkTimestamps(entity, cert, result); err != nil {
		return Signature{}, err
	}
	return e.summary(pb, entity, cert, result)
}

func (e *evidenceVerifier) summary(pb *protobundle.Bundle, entity *entity, cert *x509.Certificate, result *sgverify.VerificationResult) (Signature, error) {
	out := Signature{LogIndex: -1, Checked: []string{"public-key"}}
	if cert != nil {
		out.Checked = []string{"certificate-chain"}
		if e.scts {
			out.Checked = append(out.Checked, "sct")
		}
	}
	for _, t := range result.VerifiedTimestamps {
		out.Witnesses = append(out.Witnesses, witnessOf(t))
		if out.WitnessedAt.IsZero() || t.Timestamp.Before(out.WitnessedAt) {
			out.WitnessedAt = t.Timestamp
		}
		if t.Type == typeTimestamp && !slices.Contains(out.Checked, "timestamp") {
			out.Checked = append(out.Checked, "timestamp")
		}
	}
	if out.WitnessedAt.IsZero() {
		return Signature{}, reject(ReasonNoWitnessedTime, "no trusted log or timestamp authority proves when it was signed")
	}
	if entries := pb.GetVerificationMaterial().GetTlogEntries(); len(entries) == 1 {
		entry := entries[0]
		log := e.root.Log(entry.GetLogId().GetKeyId())
		if log == nil || !log.ValidAt(out.WitnessedAt) {
			return Signature{}, reject(ReasonUnprovenLogEntry, "the log's key was not in use at %s", clock(out.WitnessedAt))
		}
		out.LogURL, out.LogIndex = log.URL, entry.GetLogIndex()
		if entity.HasInclusionPromise() {
			out.Checked = append(out.Checked, "signed-entry-timestamp")
		}
		if entity.HasInclusionProof() {
			out.Checked = append(out.Checked, "inclusion-proof")
		}
	}
	return out, nil
}
