package trust

import (
	"crypto/sha256"
	"time"

	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// MessageRevoked reports whether the policy revokes the signed message.
func (p *Policy) MessageRevoked(message []byte) bool {
	sum := sha256.Sum256(message)
	return p.rules.Revoked.Messages[policyfile.Fingerprint(sum[:])]
}

// CertificateRevoked reports whether the policy revokes a certificate. The fingerprint is "sha256:"
// and the digest of its DER in lower-case hexadecimal.
func (p *Policy) CertificateRevoked(fingerprint string) bool {
	return p.rules.Revoked.Certificates[fingerprint]
}

// RevokedBefore returns the time before which the authority's signatures are revoked, or zero.
func (p *Policy) RevokedBefore(authority string) time.Time { return p.rules.Revoked.Before[authority] }
