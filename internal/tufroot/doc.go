// Package tufroot fetches a trusted root from a TUF repository, as Sigstore's instances distribute
// theirs.
//
// Verification never imports this package. Each fetch starts from the given TUF root metadata, in a
// temporary folder that it removes. It stores no state and reads no environment variable. So it
// cannot detect a repository that returns to an earlier complete state before its metadata expires.
package tufroot
