package verify

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"slices"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/options"

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

// verify returns the verified evidence of a claim, from memory if it has the same bytes.
func (c *claim) verify(message signedMessage) (Signature, error) {
	if !c.known {
		out, err := c.by.verify(message, c)
		if err != nil {
			return Signature{}, err
		}
		if c.by.proven != nil {
			c.by.proven.keep(c.set, provenOf(out, c.stamps), maxProven)
		}
		c.evidence = out
	}
	out := c.evidence
	if c.cert == nil {
		out.key, out.keyDigest = c.by.authority, c.by.digest
		return out, nil
	}
	out.Identity, out.Certificate, out.keyDigest = c.id, certificateOf(c.cert), sha256.Sum256(
		c.cert.RawSubjectPublicKeyInfo)
	return out, nil
}

// verify checks the evidence of one signature. sigstore-go verifies each part, and this package makes stricter
// checks of it.
func (e *evidenceVerifier) verify(message signedMessage, c *claim) (Signature, error) {
	if err := message.signedWith(c.key, c.signature); err != nil {
		return Signature{}, rejectCause(ReasonBadSignature, err, "the signature is not over this message by this key")
	}
	entity, err := entityOf(c.bundle, c.cert)
	if err != nil {
		return Signature{}, err
	}
	times, err := e.proveTimes(entity, c.cert)
	if err != nil {
		return Signature{}, err
	}
	return e.summary(c.bundle, entity, c.cert, times)
}

func (e *evidenceVerifier) summary(pb *protobundle.Bundle, entity *entity, cert *x509.Certificate,
	times []Witness) (Signature, error) {
	out := Signature{LogIndex: -1, Checked: []string{"public-key"}, Witnesses: times}
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
			return Signature{}, reject(ReasonUnprovenLogEntry, "the log's key was not in use at %s",
				clock(out.WitnessedAt))
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
