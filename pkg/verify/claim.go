package verify

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"errors"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
)

// maxStrangers is the maximum number of signatures by other signers beside those of trusted ones. Anybody can add
// some to a published document, and each takes as long as a trusted one, or longer with a slow key.
const maxStrangers = 2

// claim is a signature set with its evidence, read and not verified. Only [claim.verify] returns a [Signature].
type claim struct {
	by        *evidenceVerifier
	signature []byte
	key       signature.Verifier
	cert      *x509.Certificate // nil for a key of the trust policy, which has made the signature
	id        trust.Identity    // as the certificate states it
	bundle    *protobundle.Bundle
	stamps    int // its number of timestamps

	set      [sha256.Size]byte // digest for the memory
	known    bool              // the evidence is complete
	evidence Signature         // if it is known
}

// claims reads all signature sets, and rejects what no trusted signer can have made before it costs much. Anybody can
// write a certificate with any name, any key and any evidence. So first come the names, then the issuers of the
// certificates, and the operations with the keys of the certificates come last. A claim only rejects: a document that
// passes is verified after this. A single signature with one timestamp costs little: it is verified at once, for the
// most precise reason, and to explain who signed.
func (v *Verifier) claims(message signedMessage, sets []seal.Signature) ([]claim, error) {
	claims, stamps := make([]claim, len(sets)), 0
	for i, set := range sets {
		var err error
		if claims[i], err = v.claim(message, set); err != nil {
			return nil, inSet(err, i, len(sets))
		}
		stamps += claims[i].stamps
	}
	if stamps > maxAllTimestamps {
		return nil, reject(ReasonBadEvidence, "the signatures have more than %d timestamps in all", maxAllTimestamps)
	}
	if len(claims) == 1 && stamps <= 1 {
		return claims, nil
	}
	if err := v.checkStrangers(claims, stamps); err != nil {
		return nil, err
	}
	for i := range claims {
		if err := claims[i].checkIssuer(); err != nil {
			return nil, inSet(err, i, len(sets))
		}
	}
	return claims, nil
}

// checkStrangers limits the signatures with signers that match no authority of the trust policy.
func (v *Verifier) checkStrangers(claims []claim, stamps int) error {
	var strangers []Signature
	slow := false
	for i := range claims {
		c := &claims[i]
		if s := (Signature{Identity: c.id}); c.cert != nil && !v.trusts(&s) {
			key, is := c.cert.PublicKey.(*ecdsa.PublicKey)
			strangers, slow = append(strangers, s), slow || is && key.Curve == elliptic.P521()
		}
	}
	n := len(strangers)
	switch {
	case n == len(claims):
		return reject(ReasonWrongIdentity, "signer is not trusted: %s", v.mismatches(strangers))
	case n > maxStrangers:
		return reject(ReasonWrongIdentity, "%d signatures name signers that are not trusted, and beside those of "+
			"trusted signers the maximum is %d",
			n, maxStrangers)
	case slow:
		return reject(ReasonWrongIdentity, "a signature names a signer that is not trusted, and its key is P-521; "+
			"beside those of trusted signers it can be P-256, P-384 or RSA")
	case n > 0 && stamps > len(claims):
		return reject(ReasonWrongIdentity, "a signature names a signer that is not trusted, and beside it each "+
			"signature can have one timestamp")
	default:
		return nil
	}
}

// claim reads a signature set and its evidence.
func (v *Verifier) claim(message signedMessage, s seal.Signature) (claim, error) {
	if s.Certificate == nil {
		return v.keyed(message, s)
	}
	cert, err := readCertificate(s.Certificate)
	if err != nil {
		return claim{}, err
	}
	if v.keyless == nil {
		return claim{}, reject(ReasonUntrustedCertificate, "the trusted root (%s) names no issuer of certificates",
			v.policy.Root().Source())
	}
	id, err := IdentityOf(cert)
	if err != nil {
		return claim{}, rejectCause(ReasonBadCertificate, err, "the certificate is not one of Fulcio's: %s", err)
	}
	key, err := signature.LoadVerifier(cert.PublicKey, crypto.SHA256)
	if err != nil {
		return claim{}, rejectCause(ReasonBadCertificate, err, "the certificate's key cannot be used: %s", err)
	}
	return claim{by: v.keyless, key: key, cert: cert, id: id}.read(message, s)
}

// keyed reads a signature without a certificate: it finds the key in the trust policy.
func (v *Verifier) keyed(message signedMessage, s seal.Signature) (claim, error) {
	for _, k := range v.keys {
		if message.signedWith(k.key, s.Signature) != nil {
			continue
		}
		if s.Bundle == nil && s.BundleV03 == nil && k.withoutLog {
			return claim{by: k, known: true, evidence: Signature{LogIndex: -1, Checked: []string{"public-key"},
				unlogged: true}}, nil
		}
		if !k.root.Logs() {
			return claim{}, reject(ReasonUnprovenLogEntry, "the trusted root lists no transparency log for the entry")
		}
		return claim{by: k, key: k.key}.read(message, s)
	}
	return claim{}, reject(ReasonUnknownKey, "the signature has no certificate, and no key in the trust policy made it")
}

// read adds the evidence of a set to a claim, from memory if it has the same bytes.
func (c claim) read(message signedMessage, s seal.Signature) (claim, error) {
	if c.by.proven != nil {
		c.set = digestOfSet(message.digest, s)
		if known, is := c.by.proven.get(c.set); is {
			c.known, c.evidence, c.stamps = true, known.signature(), known.stamps
			return c, nil
		}
	}
	var err error
	c.signature = s.Signature
	c.bundle, err = evidenceOf(message.digest, s)
	if errors.Is(err, errNoEntry) {
		return claim{}, reject(ReasonNoLogEntry, "%s", errNoEntry)
	}
	if err != nil {
		return claim{}, err
	}
	c.stamps = len(c.bundle.GetVerificationMaterial().GetTimestampVerificationData().GetRfc3161Timestamps())
	pub, err := c.key.PublicKey()
	if err != nil {
		return claim{}, rejectCause(ReasonBadCertificate, err, "its key cannot be used: %s", err)
	}
	if entries := c.bundle.GetVerificationMaterial().GetTlogEntries(); c.by.root.Logs() || len(entries) > 0 {
		err = checkEntries(entries, message.digest, s.Signature, s.Certificate, pub)
	}
	return c, err
}

// checkIssuer rejects a certificate that no authority of the trusted root issued. The signing time is not proven yet,
// so it asks for the times that the certificate states.
func (c *claim) checkIssuer() (err error) {
	if c.cert == nil || c.known {
		return nil
	}
	for _, at := range []Witness{{At: c.cert.NotBefore}, {At: c.cert.NotAfter}} {
		var rejected *Rejected
		err = c.by.checkCertificate(c.cert, at)
		if !errors.As(err, &rejected) || rejected.Reason != ReasonUntrustedCertificate {
			return nil
		}
	}
	return err
}
