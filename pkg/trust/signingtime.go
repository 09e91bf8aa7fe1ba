package trust

import "time"

// MaxBindingValidity is the longest that a certificate may be valid for its signature
// to bind the time of signing. Anybody can have an old signature logged and time-stamped
// again, and leave the older evidence out. A certificate bounds by how much that can
// move the time, for what witnesses it has to lie within its validity: a Fulcio
// certificate is valid for ten minutes, and those of many private certificate
// authorities for a day.
const MaxBindingValidity = 24 * time.Hour

// BindsTime reports whether evidence for a certificate's signatures cannot be made
// long after the signing, by the times between which it is valid.
func BindsTime(notBefore, notAfter time.Time) bool {
	return notAfter.Sub(notBefore) <= MaxBindingValidity
}

// SignedAt returns when the message says that it was signed, which is the word of
// each of its signers, and zero where it does not say it or its times cannot be read.
func (e *Scope) SignedAt() time.Time { return e.signedAt }
