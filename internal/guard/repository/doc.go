// Package repository reads the signed messages of one commit of the exceptions repository for
// internal/guard. Like internal/git it reads Git objects, not a work tree or the network.
//
// If any part cannot be read, the result is an error. With a partial result, the guard could report
// or remove an exception whose message is only missing from that result.
package repository
