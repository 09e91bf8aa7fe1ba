package verify

import (
	"time"

	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
)

// bindsTime reports whether the witnessed time is about when the signature was made.
// A key, and a certificate that is valid for long, can be witnessed again at any later
// time, by anybody who has the old signature.
func (s *Signature) bindsTime() bool {
	return s.key == nil && trust.BindsTime(s.Certificate.NotBefore, s.Certificate.NotAfter)
}

// signedAt returns when the signature was made, by what nobody but its signer can
// have made: the witnessed time where the certificate binds it, unless the message
// states an earlier one, and otherwise what the message states, as long as a witness
// does not say that the signature was there before. It is zero where neither says it.
// A signature belongs to a key: another certificate for it can be witnessed later.
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

// earliest returns the earliest time at which one of the authorities signed, or zero
// when that of one of them cannot be told. Whichever of its signatures counts, the
// answer is the same, and so is the verdict in whatever order they stand.
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

// SignedAt returns when the authorities of the trust policy signed the document: the
// earliest of their times, by evidence that nobody can make again later. It is zero
// where that of one of them cannot be told so.
func (v *Verified) SignedAt() time.Time {
	life, err := lifetime.Of(v.message, lifetime.Terms{})
	if err != nil {
		return time.Time{}
	}
	return earliest(v.facts.Signatures, life.SignedAt)
}

// revokedBefore reports whether a signature is among what its authority signed before
// a time, or may be. A certificate that is valid for long counts from its beginning,
// and what a key signed is revoked altogether: whoever stole it can state any time.
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

// checkStated refuses a message that states a time at which none of its authorities can
// have signed it: the certificates are others than those that it was signed with. Anybody
// can add a signature of their own, with a certificate that was valid then.
func checkStated(signatures []Signature, stated time.Time) error {
	if stated.IsZero() {
		return nil
	}
	for _, s := range signatures {
		if len(s.of) > 0 && (s.key != nil || !stated.Before(s.Certificate.NotBefore.Add(-maxClockSkew)) && !stated.After(s.Certificate.NotAfter.Add(maxClockSkew))) {
			return nil
		}
	}
	return reject(ReasonBadLifetime, "it states that it was signed at %s, and no certificate beside its signatures was valid then", clock(stated))
}

// unboundTime is said of a signature whose time cannot be told.
const unboundTime = "nobody witnessed when it was signed, or only with evidence that can be made again later: sign it anew with polex-sign, which states the time in " +
	exception.AnnotationSignedAt + ", or with a certificate that is valid for a day at most"
