package verify

import "github.com/polex-dev/polex/pkg/seal"

// Evidence is step 5 alone, for evidence that others publish about messages that
// are no documents.
func (v *Verifier) Evidence(message []byte, s seal.Signature) (Signature, error) {
	return v.signature(message, s)
}

// Proven is how many signatures are remembered.
func (v *Verifier) Proven() int {
	if v.keyless.proven == nil {
		return 0
	}
	return len(v.keyless.proven.held)
}
