// Package size measures what ships: how large each command is, how long it
// takes to start and how much memory it needs to say its version.
package size
