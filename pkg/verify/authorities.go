package verify

import (
	"fmt"
	"strings"

	"github.com/polex-dev/polex/pkg/trust"
)

// count checks that enough distinct authorities signed. A signature counts for
// one authority at most, and one signer counts once however often it signed.
func (v *Verifier) count(signatures []Signature) error {
	m := matching{authorities: v.policy.Authorities(), signers: map[string][]*Signature{}, counted: map[string]*Signature{}}
	var order []string
	for i := range signatures {
		signer := signatures[i].signer()
		if m.signers[signer] == nil {
			order = append(order, signer)
		}
		m.signers[signer] = append(m.signers[signer], &signatures[i])
	}
	for _, signer := range order {
		m.place(signer, map[string]bool{})
	}
	for authority, s := range m.counted {
		s.Authority = authority
	}
	switch need := v.policy.Threshold(); {
	case len(m.counted) >= need:
		return nil
	case len(m.counted) == 0:
		return reject(ReasonWrongIdentity, "nobody whom the trust policy names signed it: %s", v.mismatches(signatures))
	default:
		return reject(ReasonTooFewAuthorities, "%d of the authorities signed it, and %d have to", len(m.counted), need)
	}
}

// matching finds the most authorities that the signers can stand for, so that
// the order of the signatures does not matter where authorities overlap.
type matching struct {
	authorities []*trust.Authority
	signers     map[string][]*Signature
	counted     map[string]*Signature // by authority
}

// place finds an authority for a signer, moving others where that makes room.
// No authority is tried twice, which seen keeps.
func (m matching) place(signer string, seen map[string]bool) bool {
	for _, s := range m.signers[signer] {
		for _, a := range m.authorities {
			if seen[a.Name()] || !s.countsFor(a) {
				continue
			}
			seen[a.Name()] = true
			if held := m.counted[a.Name()]; held == nil || m.place(held.signer(), seen) {
				m.counted[a.Name()] = s
				return true
			}
		}
	}
	return false
}

func (s *Signature) countsFor(a *trust.Authority) bool {
	if s.Identity.Subject == "" {
		return s.Authority == a.Name()
	}
	return a.Mismatch(s.Identity) == ""
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
