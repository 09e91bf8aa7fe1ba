// Package cli tests the commands as users run them: with readable scripts, the real binaries and a
// sandbox on loopback.
package cli
