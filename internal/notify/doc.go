// Package notify says in words what became of an exception: that it was signed or
// refused, that it ends soon, or that it has ended.
//
// An [Event] is made of a ledger, and so of what was verified; of what was not, it
// says no more than its name and why it was refused, and says that nobody vouches
// for it. [Markdown], [JSON], [Slack] and [Teams] render one. What is quoted in it
// is text of others, and is inert in all of them: it makes no link, mentions nobody
// and formats nothing. Addresses become links only where they were signed and have
// the form of one.
//
// The package does no I/O; package send sends what it renders.
package notify
