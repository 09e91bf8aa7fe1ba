// Package notify renders notifications about an exception: it was signed or rejected, it expires
// soon, or it has expired.
//
// An [Event] comes from a ledger, so its texts are verified. For an unverified exception it has
// only the name and the reason of the rejection, and it says that no signature covers them.
// [Markdown], [JSON] and [Slack] render an event. Quoted text is untrusted and inert in
// all of them: it makes no link, mentions nobody and formats nothing. A signed address becomes a
// link if it has the form of a plain https address.
//
// The package does no I/O. Package send sends the notifications.
package notify
