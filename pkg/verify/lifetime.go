package verify

import (
	"errors"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/trust"
)

// maxClockSkew is how far a witness's clock may be ahead of ours. Beyond that,
// ours is wrong, and an expiry could not be told.
const maxClockSkew = 10 * time.Minute

// lifetime returns the lifetime that was signed, beside a refusal too.
func (v *Verifier) lifetime(message *exception.Document, extent trust.Extent, signatures []Signature, now time.Time) (lifetime.Lifetime, error) {
	none := lifetime.Lifetime{}
	life, err := lifetime.OfDocument(message)
	var bad *lifetime.Error
	if errors.As(err, &bad) {
		return none, rejectCause(ReasonBadLifetime, err, "%s", bad.Error())
	}
	if err != nil {
		return none, err
	}
	signedAt, err := v.witnessed(signatures, now)
	if err != nil {
		return life, err
	}
	longest, ends := v.policy.MaxLifetime(extent)
	if life.ExpiresAt.IsZero() {
		// Signing turns a duration into a time. Where it did not, what was
		// approved was an end, and to allow no end is not to allow this.
		if life.ExpiresIn > 0 {
			return life, reject(ReasonNoExpiry, "it asks for %s, and no time was made of that when it was signed", lifetime.FormatDuration(life.ExpiresIn))
		}
		if message.GroupKind().IsException() && !v.policy.AllowsUnbounded() {
			return life, reject(ReasonNoExpiry, "it never expires, and exceptions have to")
		}
		if ends {
			return life, reject(ReasonNoExpiry, "it never expires, and the trust policy's lifetimes allow it %s", lifetime.FormatDuration(longest))
		}
	} else {
		if !now.Before(life.ExpiresAt) {
			return life, reject(ReasonExpired, "it expired at %s", clock(life.ExpiresAt))
		}
		if longest > 0 {
			if signedAt.IsZero() {
				return life, reject(ReasonNoWitnessedTime, "nobody witnessed when it was signed, so its lifetime cannot be held against the maximum of %s", lifetime.FormatDuration(longest))
			}
			if life.ExpiresAt.Sub(signedAt) > longest {
				return life, reject(ReasonLifetimeTooLong, "signed at %s until %s, it lives longer than %s", clock(signedAt), clock(life.ExpiresAt), lifetime.FormatDuration(longest))
			}
		}
	}
	if now.Before(life.StartsAt) {
		return life, reject(ReasonNotYetValid, "it starts at %s", clock(life.StartsAt))
	}
	return life, nil
}

// witnessed returns the earliest time at which one of the authorities signed,
// or zero when one of them signed unwitnessed. Whichever of its signatures counts,
// the answer is the same, and so is the verdict in whatever order they stand.
func (v *Verifier) witnessed(signatures []Signature, now time.Time) (time.Time, error) {
	var earliest time.Time
	unwitnessed := false
	for _, s := range signatures {
		if s.WitnessedAt.After(now.Add(maxClockSkew)) {
			return time.Time{}, reject(ReasonSignedInFuture, "it was signed at %s, which is still to come: is this clock right?", clock(s.WitnessedAt))
		}
		if len(s.of) == 0 {
			continue
		}
		if s.WitnessedAt.IsZero() {
			unwitnessed = true
		}
		if earliest.IsZero() || s.WitnessedAt.Before(earliest) {
			earliest = s.WitnessedAt
		}
	}
	if unwitnessed {
		return time.Time{}, nil
	}
	return earliest, nil
}

// withdrawn checks the message, and the signatures of the policy's authorities,
// against what the trust policy revokes.
func (v *Verifier) withdrawn(message []byte, signatures []Signature) error {
	if v.policy.MessageRevoked(message) {
		return reject(ReasonWithdrawn, "the trust policy withdraws this message")
	}
	for _, s := range signatures {
		for _, a := range s.of {
			if before := v.policy.RevokedBefore(a.Name()); !before.IsZero() && s.WitnessedAt.Before(before) {
				return reject(ReasonWithdrawn, "the trust policy withdraws what %q signed before %s", a.Name(), clock(before))
			}
			if v.policy.CertificateRevoked(s.Certificate.Fingerprint) {
				return reject(ReasonWithdrawn, "the trust policy withdraws the certificate that %q signed with", a.Name())
			}
		}
	}
	return nil
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }
