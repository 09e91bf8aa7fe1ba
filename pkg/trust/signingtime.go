package trust

import "time"

// MaxBindingValidity is the maximum validity of a certificate that binds the signing time. Anybody
// can get a new log entry or timestamp for an old signature, and remove the older evidence. But the
// proven time must lie within the certificate's validity, so a short validity limits the change.
// A certificate of the public-good Fulcio is valid for ten minutes; a private one may issue longer
// ones.
const MaxBindingValidity = 24 * time.Hour

// BindsTime reports whether a certificate with this validity binds the signing time, see
// [MaxBindingValidity].
func BindsTime(notBefore, notAfter time.Time) bool {
	return notAfter.Sub(notBefore) <= MaxBindingValidity
}
