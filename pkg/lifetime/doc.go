// Package lifetime reads how long an exception lives: durations as people write
// them, absolute times, and what an exception says of either.
//
// An exception may ask for a duration ("polex.dev/expires-in: 7d"); signing
// turns it into an absolute time, so that the clock starts at the approval and
// not at the request, and only the absolute time is ever enforced. The package
// knows no clock: whoever asks passes the time.
package lifetime
