// Package cli tests the binaries as their users meet them: scripts that a person
// can read, run against the real binaries and a sandbox on loopback.
package cli
