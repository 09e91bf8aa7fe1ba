// Package servers runs the real programs that the end-to-end tests speak to, as
// processes on loopback.
//
// A [Group] is what belongs together: it ends as a whole, the last one started
// first, and with the process that started it. Every program writes to a file of
// its own, whose end is shown when something goes wrong.
package servers
