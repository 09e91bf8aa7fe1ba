package verify

import (
	"fmt"
	"strings"
)

// count checks that enough distinct authorities signed. A signature counts for
// one authority at most, and one signer counts once however often it signed.
func (v *Verifier) count(signatures []Signature) error {
	counted := map[string]bool{} // authorities
	signers := map[string]bool{}
	for i := range signatures {
		s := &signatures[i]
		signer := s.signer()
		if signers[signer] {
			continue
		}
		if s.Authority == "" {
			s.Authority = v.authorityOf(*s, counted)
		}
		if s.Authority != "" && !counted[s.Authority] {
			counted[s.Authority], signers[signer] = true, true
		}
	}
	switch need := v.policy.Threshold(); {
	case len(counted) >= need:
		return nil
	case len(counted) == 0:
		return reject(ReasonWrongIdentity, "nobody whom the trust policy names signed it: %s", v.mismatches(signatures))
	default:
		return reject(ReasonTooFewAuthorities, "%d of the authorities signed it, and %d have to", len(counted), need)
	}
}

// authorityOf returns the first authority that the certificate's identity is
// and that has not been counted yet.
func (v *Verifier) authorityOf(s Signature, counted map[string]bool) string {
	for _, a := range v.policy.Authorities() {
		if !counted[a.Name()] && a.Mismatch(s.Identity) == "" {
			return a.Name()
		}
	}
	return ""
}

func (s *Signature) signer() string {
	if s.Identity.Subject == "" {
		return "key " + s.Authority
	}
	return s.Identity.Issuer + " " + s.Identity.Subject
}

func (v *Verifier) mismatches(signatures []Signature) string {
	var said []string
	for _, s := range signatures {
		for _, a := range v.policy.Authorities() {
			if len(said) == maxDifferences {
				return strings.Join(said, "; ") + "; and more"
			}
			said = append(said, fmt.Sprintf("not %q, for %s", a.Name(), a.Mismatch(s.Identity)))
		}
	}
	return strings.Join(said, "; ")
}
