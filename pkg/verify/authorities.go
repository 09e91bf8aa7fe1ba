package verify

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// enough checks that enough distinct authorities signed, without regard to their limits.
func (v *Verifier) enough(signatures []Signature) error {
	by := v.possible(signersOf(signatures), func(*Signature, *trust.Authority) bool { return true })
	if _, enough, lacking := v.policy.Assign(by); !enough {
		return v.tooFew(signatures, by, lacking)
	}
	return nil
}

// possible returns the authorities for which each signer may count: those that made a signature of it and are allowed
// to.
func (v *Verifier) possible(signers [][]*Signature,
	allowed func(*Signature, *trust.Authority) bool) [][]*trust.Authority {
	by := make([][]*trust.Authority, len(signers))
	for i, signer := range signers {
		for _, s := range signer {
			for _, a := range v.policy.Authorities() {
				if s.isBy(a) && allowed(s, a) {
					by[i] = append(by[i], a)
				}
			}
		}
	}
	return by
}

// count checks that enough distinct authorities signed, each within its limits, and that a renewal is within those of
// the policy. A signature counts for one authority at most. A signer counts once, also with several signatures.
func (v *Verifier) count(scope policyfile.Scope, signatures []Signature) error {
	signers := signersOf(signatures)
	var broken []string
	within := v.possible(signers, func(s *Signature, a *trust.Authority) bool {
		limit := cmp.Or(a.Exceeded(scope), v.policy.Rules().Outlasts(a.Name(), scope, s.signedAt(scope.SignedAt())))
		if limit != "" {
			broken = append(broken, fmt.Sprintf("%q signed it, and %s", a.Name(), limit))
			return false
		}
		s.of = append(s.of, a)
		return true
	})
	counted, enough, _ := v.policy.Assign(within)
	for i, a := range counted {
		if a != nil {
			first := slices.IndexFunc(signers[i], func(s *Signature) bool { return slices.Contains(s.of, a) })
			signers[i][first].Authority = a.Name()
		}
	}
	if !enough {
		return reject(ReasonBeyondLimits, "%s", several(broken))
	}
	if excess := v.policy.Rules().Renewals.Exceeded(scope); excess != "" {
		return reject(ReasonRenewalNotAllowed, "it renews another exception: %s", excess)
	}
	return nil
}

// Foresee returns the *[Rejected] of a message that an identity will sign at now, by its kind, signer,
// limits, lifetime and revocations. With it, no signature is logged that the trust policy rejects.
// Success promises nothing: only [Verifier.Verify] accepts.
func (v *Verifier) Foresee(message *exception.Document, id trust.Identity, cert *x509.Certificate,
	now time.Time) error {
	own := []Signature{{Identity: id, Certificate: certificateOf(cert), WitnessedAt: now}}
	scope := v.policy.Rules().ScopeOf(message)
	err := v.kind(message)
	if err == nil {
		err = v.enough(own)
	}
	if err == nil {
		err = v.count(scope, own)
	}
	if err == nil {
		_, err = v.lifetime(message, scope, own, now)
	}
	if err == nil {
		err = v.withdrawn(nil, own, scope.SignedAt())
	}
	var rejected *Rejected
	if errors.As(err, &rejected) && rejected.Reason == ReasonNotYetValid {
		return nil
	}
	return err
}

// tooFew returns the rejection: either no signer is trusted, or the trusted signers are too few.
func (v *Verifier) tooFew(signatures []Signature, by [][]*trust.Authority, lacking string) error {
	if slices.ContainsFunc(by, func(may []*trust.Authority) bool { return len(may) > 0 }) {
		return reject(ReasonTooFewAuthorities, "%s", lacking)
	}
	return reject(ReasonWrongIdentity, "signer is not trusted: %s", v.mismatches(signatures))
}

// signersOf groups the signatures by signer. Two signatures have the same signer if they have the
// same identity or the same key, even under different certificates.
func signersOf(signatures []Signature) [][]*Signature {
	var signers [][]*Signature
	for i := range signatures {
		mine := []*Signature{&signatures[i]}
		var others [][]*Signature
		for _, signer := range signers {
			if slices.ContainsFunc(signer, func(s *Signature) bool {
				return s.signer() == signatures[i].signer() || s.keyDigest == signatures[i].keyDigest
			}) {
				mine = slices.Concat(signer, mine)
			} else {
				others = append(others, signer)
			}
		}
		others = append(others, mine)
		signers = others
	}
	return signers
}

// isBy reports whether an authority made the signature, without regard to its limits.
func (s *Signature) isBy(a *trust.Authority) bool {
	if s.key != nil {
		return s.key.SameKey(a) && (!s.unlogged || a.WithoutLog())
	}
	is, _ := a.Matches(s.Identity)
	return is
}

// trusts reports whether the signature is by an authority of the trust policy, without regard to its limits.
func (v *Verifier) trusts(s *Signature) bool {
	return slices.ContainsFunc(v.policy.Authorities(), s.isBy)
}

func (s *Signature) signer() string {
	if s.key != nil {
		return "key " + s.key.Name()
	}
	return s.Identity.Signer()
}

func (v *Verifier) mismatches(signatures []Signature) string {
	var texts []string
	for _, s := range signatures {
		for _, a := range v.policy.Authorities() {
			_, why := a.Matches(s.Identity)
			texts = append(texts, fmt.Sprintf("authority %q does not match: %s", a.Name(), why))
		}
	}
	return several(texts)
}

// several joins the first few texts and omits duplicates.
func several(texts []string) string {
	var list []string
	for _, one := range texts {
		if slices.Contains(list, one) {
			continue
		}
		if len(list) == maxDifferences {
			return strings.Join(list, "; ") + "; and more"
		}
		list = append(list, one)
	}
	return strings.Join(list, "; ")
}
