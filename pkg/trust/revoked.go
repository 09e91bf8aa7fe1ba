package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// revoked holds the revocations of a policy.
type revoked struct {
	messages     map[string]bool      // by digest
	certificates map[string]bool      // by fingerprint
	before       map[string]time.Time // by authority
}

func (p *Policy) setRevoked(revocations []RevocationConfig) error {
	p.revoked = revoked{messages: map[string]bool{}, certificates: map[string]bool{}, before: map[string]time.Time{}}
	for i, r := range revocations {
		if err := p.revoke(r); err != nil {
			return fmt.Errorf("revoked %d: %w", i+1, err)
		}
	}
	return nil
}

func (p *Policy) revoke(r RevocationConfig) error {
	signer := r.Authority != "" || r.SignedBefore != ""
	switch {
	case r.MessageDigest != "" && r.Certificate == "" && !signer:
		return revokeDigest(p.revoked.messages, r.MessageDigest)
	case r.Certificate != "" && r.MessageDigest == "" && !signer:
		return revokeDigest(p.revoked.certificates, r.Certificate)
	case !signer || r.MessageDigest != "" || r.Certificate != "":
		return errors.New("set either messageDigest, or certificate, or authority and signedBefore")
	}
	before, err := exception.ParseTime(r.SignedBefore)
	if err != nil {
		return fmt.Errorf("signedBefore: %w", err)
	}
	if p.authority(r.Authority) == nil {
		return fmt.Errorf("there is no authority called %q", r.Authority)
	}
	if before.After(p.revoked.before[r.Authority]) {
		p.revoked.before[r.Authority] = before
	}
	return nil
}

func revokeDigest(list map[string]bool, text string) error {
	digits, ok := strings.CutPrefix(text, "sha256:")
	raw, err := hex.DecodeString(digits)
	if !ok || err != nil || len(raw) != sha256.Size {
		return fmt.Errorf("%q is not sha256: and 64 hexadecimal digits", text)
	}
	list[fingerprint(raw)] = true
	return nil
}

func fingerprint(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

// MessageRevoked reports whether the policy revokes the signed message.
func (p *Policy) MessageRevoked(message []byte) bool {
	sum := sha256.Sum256(message)
	return p.revoked.messages[fingerprint(sum[:])]
}

// CertificateRevoked reports whether the policy revokes a certificate. The fingerprint is "sha256:"
// and the digest of its DER in lower-case hexadecimal.
func (p *Policy) CertificateRevoked(fingerprint string) bool {
	return p.revoked.certificates[fingerprint]
}

// RevokedBefore returns the time before which the authority's signatures are revoked, or zero.
func (p *Policy) RevokedBefore(authority string) time.Time { return p.revoked.before[authority] }
