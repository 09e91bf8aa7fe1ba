// Package tufroot fetches a trusted root from a TUF repository, which is how
// Sigstore's instances distribute theirs.
//
// It is the one part of trust that somebody has to run: nothing that verifies
// imports it. Each fetch begins anew from the TUF root metadata that is given, in a
// temporary folder that it removes: nothing is remembered, and no environment
// variable has a say. So what it cannot see is a repository that goes back to a
// whole earlier state whose metadata is still good: the metadata's end bounds that.
package tufroot
