// Package lifetime reads the lifetime of an exception: durations, absolute times, and the
// statements of an exception about them.
//
// An exception may state a duration ("polex.dev/expires-in: 7d"). Signing turns it into an absolute
// time, so that the duration starts at the approval and not at the request. Only the absolute time
// is enforced.
//
// Other tools may need the expiry in another form: Kyverno's label ([FormatTTL]). It is part of the
// signed content. A label that contradicts the expiry is rejected.
//
// Times have the form of RFC 3339 with any offset, and are written in UTC. A day has 24 hours, also
// when clocks change. The package reads no clock: the caller passes the time.
package lifetime
