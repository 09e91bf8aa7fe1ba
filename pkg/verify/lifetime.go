package verify

import (
	"errors"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// maxClockSkew is the maximum by which a proven time can be later than the local clock. Beyond
// it, the local clock is wrong, and cannot decide about an expiry.
const maxClockSkew = 10 * time.Minute

// lifetime returns the signed lifetime, together with a rejection too.
func (v *Verifier) lifetime(message *exception.Document, scope policyfile.Scope, signatures []Signature,
	now time.Time) (lifetime.Lifetime, error) {
	none := lifetime.Lifetime{}
	rules := v.policy.Rules()
	life, err := lifetime.Of(message, rules.Terms)
	var bad *lifetime.Error
	if errors.As(err, &bad) {
		return none, rejectCause(ReasonBadLifetime, err, "%s", bad.Error())
	}
	if err != nil {
		return none, err
	}
	if err := checkStated(signatures, life.SignedAt); err != nil {
		return life, err
	}
	signedAt, err := v.signedAt(signatures, life.SignedAt, now)
	if err != nil {
		return life, err
	}
	most := rules.MaxLifetime(scope)
	if life.ExpiresAt.IsZero() {
		// Signing converts a duration into a time. If it did not, the reviewers approved an expiry,
		// so this is a rejection even if the policy allows exceptions without one.
		if life.ExpiresIn > 0 {
			return life, reject(ReasonNoExpiry,
				"it has the duration %s, which was not converted to a time when it was signed",
				lifetime.FormatDuration(life.ExpiresIn))
		}
		if message.GroupKind().IsException() && !rules.Unbounded {
			return life, reject(ReasonNoExpiry, "it has no expiry, and exceptions require one")
		}
		if most.Ends {
			return life, reject(ReasonNoExpiry, "it has no expiry, and the trust policy allows it %s (%s)",
				lifetime.FormatDuration(most.Duration), most.Setting)
		}
	} else {
		if !now.Before(life.ExpiresAt) {
			return life, reject(ReasonExpired, "it expired at %s", clock(life.ExpiresAt))
		}
		if most.Duration > 0 {
			if signedAt.IsZero() {
				return life, reject(ReasonNoWitnessedTime, "its lifetime cannot be compared with the maximum of %s: %s",
					lifetime.FormatDuration(most.Duration), unboundTime)
			}
			if life.ExpiresAt.Sub(signedAt) > most.Duration {
				return life, reject(ReasonLifetimeTooLong,
					"signed at %s, it expires at %s: the lifetime exceeds the maximum of %s (%s)", clock(signedAt),
					clock(life.ExpiresAt),
					lifetime.FormatDuration(most.Duration), most.Setting)
			}
		}
	}
	if now.Before(life.StartsAt) {
		return life, reject(ReasonNotYetValid, "it starts at %s", clock(life.StartsAt))
	}
	return life, nil
}

// signedAt returns the result of [earliest]. A signing time in the future is a rejection.
func (v *Verifier) signedAt(signatures []Signature, stated, now time.Time) (time.Time, error) {
	for _, s := range signatures {
		if s.WitnessedAt.After(now.Add(maxClockSkew)) {
			return time.Time{}, reject(ReasonSignedInFuture,
				"it was signed at %s, which is in the future: is this clock right?", clock(s.WitnessedAt))
		}
	}
	return earliest(signatures, stated), nil
}

// withdrawn checks the revocations of the trust policy: the message, its certificates, and the
// signatures of each authority before a time.
func (v *Verifier) withdrawn(message []byte, signatures []Signature, stated time.Time) error {
	if v.policy.MessageRevoked(message) {
		return reject(ReasonWithdrawn, "the trust policy revokes this message")
	}
	for i := range signatures {
		s := &signatures[i]
		for _, a := range v.policy.Authorities() {
			if !s.isBy(a) { // checks every authority of the signature, also beyond its limits
				continue
			}
			switch before := v.policy.RevokedBefore(a.Name()); {
			case !s.revokedBefore(before, stated):
			case s.key != nil:
				return reject(ReasonWithdrawn, "the trust policy revokes signatures of %q before %s, and therefore "+
					"all: a key does not prove the time", a.Name(), clock(before))
			case s.bindsTime():
				return reject(ReasonWithdrawn, "the trust policy revokes signatures of %q before %s", a.Name(),
					clock(before))
			default:
				return reject(ReasonWithdrawn, "the trust policy revokes signatures of %q before %s, and therefore "+
					"all of this certificate, which is valid from %s", a.Name(), clock(before),
					clock(s.Certificate.NotBefore))
			}
			if v.policy.CertificateRevoked(s.Certificate.Fingerprint) {
				return reject(ReasonWithdrawn, "the trust policy revokes the certificate of %q", a.Name())
			}
		}
	}
	return nil
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }
