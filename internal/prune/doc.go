// Package prune removes expired exceptions from a repository.
//
// They are removed from Git first, so that no deployment creates them in the cluster again. An
// exception is expired when the time in it has passed. The package does not verify signatures:
// removing an exception is always safe, and the verifier rejects modified ones.
//
// A file is removed if all of its exceptions are expired. Otherwise the other exceptions in it
// stay, byte for byte. A file that cannot be parsed, or has an exception with an invalid time, is
// reported and left unchanged.
package prune
