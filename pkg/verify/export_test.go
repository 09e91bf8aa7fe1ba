package verify

import "github.com/polex-dev/polex/pkg/seal"

// Evidence takes the steps 4 and 5 only, for published evidence of messages that are not documents.
func (v *Verifier) Evidence(message []byte, s seal.Signature) (Signature, error) {
	m := messageOf(message)
	c, err := v.claim(m, s)
	if err != nil {
		return Signature{}, err
	}
	return c.verify(m)
}

// Proven returns the number of remembered signatures.
func (v *Verifier) Proven() int {
	if v.keyless.proven == nil {
		return 0
	}
	return len(v.keyless.proven.held)
}

// ReadCertificate reads the certificate of a signer.
var ReadCertificate = readCertificate
