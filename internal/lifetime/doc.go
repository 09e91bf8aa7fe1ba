// Package lifetime reads how long an exception lives: durations as people write
// them, absolute times, and what an exception says of either.
//
// An exception may ask for a duration ("polex.dev/expires-in: 7d"); signing
// turns it into an absolute time, so that the clock starts at the approval and
// not at the request, and only the absolute time is ever enforced.
//
// What has to end an exception without polex may read the same end in other forms:
// Kyverno's label ([FormatTTL]), and a policy that deletes it ([CleanupPolicy]). The
// label stands inside of what is signed, and one that says another time is refused
// wherever a lifetime is read.
//
// Times are those of RFC 3339, in any zone by its offset, and what is written is in
// UTC. A day has 24 hours, whatever clocks are changed in it. The package
// knows no clock: whoever asks passes the time.
package lifetime
