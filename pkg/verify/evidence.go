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
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/options"

	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
)

// evidenceVerifier verifies the evidence for one kind of signer: all certificates of Fulcio, or one
// public key.
type evidenceVerifier struct {
	root     *trust.Root
	material sgroot.TrustedMaterial
	issuers  sgroot.TrustedMaterial // checks the SCTs of certificates too; nil for a key
	// proven holds the verified evidence, by digestOfSet; nil means that nothing is remembered.
	proven *memory[[sha256.Size]byte, proven]

	authority  *trust.Authority // the first authority that has the key; nil for certificates
	withoutLog bool             // one of the authorities that have the key needs no log
	key        signature.Verifier
	digest     [sha256.Size]byte // of the key, DER
}

func newKeylessVerifier(root *trust.Root) *evidenceVerifier {
	return &evidenceVerifier{root: root, material: root.Material(), issuers: newRememberingMaterial(root)}
}

// signedMessage is the message of a document with its digest, which all its signatures share.
type signedMessage struct {
	raw    []byte
	digest [sha256.Size]byte
}

func messageOf(raw []byte) signedMessage { return signedMessage{raw, sha256.Sum256(raw)} }

// signedWith verifies a signature over the message. A key for Ed25519 reads the message, any other its digest.
func (m signedMessage) signedWith(key signature.Verifier, sig []byte) error {
	return key.VerifySignature(bytes.NewReader(sig), bytes.NewReader(m.raw), options.WithDigest(m.digest[:]))
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
	return &evidenceVerifier{root: root, authority: a, withoutLog: a.WithoutLog(), key: key, digest: sha256.Sum256(der),
		material: keyMaterial{root.Material(), sgroot.NewExpiringKey(key, time.Time{}, time.Time{})}}, nil
}

// signature verifies one signature set and returns its signer and evidence.
func (v *Verifier) signature(message signedMessage, s seal.Signature) (Signature, error) {
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
func (v *Verifier) keyed(message signedMessage, s seal.Signature) (Signature, error) {
	for _, k := range v.keys {
		if message.signedWith(k.key, s.Signature) != nil {
			continue
		}
		if s.Bundle == nil && s.BundleV03 == nil && k.withoutLog {
			return Signature{LogIndex: -1, Checked: []string{"public-key"}, key: k.authority, keyDigest: k.digest, unlogged: true}, nil
		}
		if !k.root.Logs() {
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
func (e *evidenceVerifier) verify(message signedMessage, s seal.Signature, key signature.Verifier, cert *x509.Certificate) (Signature, error) {
	if e.proven == nil {
		return e.verifyAnew(message, s, key, cert)
	}
	set := digestOfSet(message.digest, s)
	if known, is := e.proven.get(set); is {
		return known.signature(), nil
	}
	out, err := e.verifyAnew(message, s, key, cert)
	if err == nil {
		e.proven.keep(set, provenOf(out), maxProven)
	}
	return out, err
}

// verifyAnew checks the evidence of one signature. sigstore-go verifies each part, and this package makes stricter
// checks of it.
func (e *evidenceVerifier) verifyAnew(message signedMessage, s seal.Signature, key signature.Verifier, cert *x509.Certificate) (Signature, error) {
	pb, err := evidenceOf(message.digest, s)
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
		if err := checkEntries(entries, message.digest, s.Signature, s.Certificate, pub); err != nil {
			return Signature{}, err
		}
	}
	if err := message.signedWith(key, s.Signature); err != nil {
		return Signature{}, rejectCause(ReasonBadSignature, err, "the signature is not over this message by this key")
	}
	entity, err := entityOf(pb, cert)
	if err != nil {
		return Signature{}, err
	}
	times, err := e.proveTimes(entity, cert)
	if err != nil {
		return Signature{}, err
	}
	return e.summary(pb, entity, cert, times)
}

func (e *evidenceVerifier) summary(pb *protobundle.Bundle, entity *entity, cert *x509.Certificate, times []Witness) (Signature, error) {
	out := Signature{LogIndex: -1, Checked: []string{"public-key"}, Witnesses: times,
		stamps: len(pb.GetVerificationMaterial().GetTimestampVerificationData().GetRfc3161Timestamps())}
	if cert != nil {
		out.Checked = []string{"certificate-chain"}
		if e.root.LogsCertificates() {
			out.Checked = append(out.Checked, "sct")
		}
	}
	for _, t := range times {
		if out.WitnessedAt.IsZero() || t.At.Before(out.WitnessedAt) {
			out.WitnessedAt = t.At
		}
		if t.Kind == WitnessTimestamp && !slices.Contains(out.Checked, "timestamp") {
			out.Checked = append(out.Checked, "timestamp")
		}
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
