package verify

import (
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/trust"
)

// bindsTime reports whether the proven time is close to the signing time. Anybody with an old
// signature can get new evidence for it later, if it was made with a key or with a certificate of a
// long validity.
func (s *Signature) bindsTime() bool {
	return s.key == nil && trust.BindsTime(s.Certificate.NotBefore, s.Certificate.NotAfter)
}

// signedAt returns the signing time, from evidence that only the signer can make, or zero. If the
// certificate binds the time, it is the proven time, or an earlier stated one. Otherwise it is
// the stated time, and zero if the evidence proves no time or an earlier one. The stated time is
// part of the message. A signature belongs to a key: later evidence can name another certificate
// for that key.
func (s *Signature) signedAt(stated time.Time) time.Time {
	switch {
	case s.bindsTime() && !stated.IsZero() && stated.Before(s.WitnessedAt):
		return stated
	case s.bindsTime():
		return s.WitnessedAt
	case s.WitnessedAt.IsZero() || stated.After(s.WitnessedAt.Add(maxClockSkew)):
		return time.Time{}
	default:
		return stated
	}
}

// earliest returns the earliest signing time of the authorities, or zero if one of them is unknown.
// The result does not depend on the order of the signatures, nor on the one that counts.
func earliest(signatures []Signature, stated time.Time) time.Time {
	var first time.Time
	for i := range signatures {
		s := &signatures[i]
		if len(s.of) == 0 {
			continue
		}
		at := s.signedAt(stated)
		if at.IsZero() {
			return at
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

// SignedAt returns the earliest time at which an authority of the trust policy signed the document.
// It uses only evidence that nobody can make later, and is zero if the time of one authority is
// unknown.
func (v *Verified) SignedAt() time.Time {
	life, err := lifetime.Of(v.message, lifetime.Terms{})
	if err != nil {
		return time.Time{}
	}
	return earliest(v.facts.Signatures, life.SignedAt)
}

// revokedBefore reports whether a signature was made before a time, or may have been. A certificate
// with a long validity counts from its start. For a key all signatures are revoked: the thief of a
// key can state any time.
func (s *Signature) revokedBefore(before, stated time.Time) bool {
	switch {
	case before.IsZero():
		return false
	case s.key != nil, !stated.IsZero() && stated.Before(before):
		return true
	case s.bindsTime():
		return s.WitnessedAt.Before(before)
	default:
		return s.Certificate.NotBefore.Before(before)
	}
}

// checkStated rejects a message if no certificate of its authorities was valid at the stated time.
// Such certificates are not those that signed it. Other signatures do not count: anybody can add
// one with a certificate that was valid at that time.
func checkStated(signatures []Signature, stated time.Time) error {
	if stated.IsZero() {
		return nil
	}
	for _, s := range signatures {
		if len(s.of) > 0 && (s.key != nil || !stated.Before(s.Certificate.NotBefore.Add(-maxClockSkew)) &&
			!stated.After(s.Certificate.NotAfter.Add(maxClockSkew))) {
			return nil
		}
	}
	return reject(ReasonBadLifetime, "it states that it was signed at %s, and no certificate beside its signatures "+
		"was valid then", clock(stated))
}

// unboundTime explains an unknown signing time.
const unboundTime = "its signing time is not proven, or only by evidence that can be recreated later: sign it again " +
	"with polex-sign, which states the time in " +
	exception.AnnotationSignedAt + ", or with a certificate that is valid for a day at most"
