// Package load puts many exceptions before a real API server that asks polex-guard,
// some honest and some forged, and weighs the guard beside Kyverno's own check of
// signatures. Verdicts are asserted, and that the guard's memory does not grow;
// times, memory and their ratios are printed. The Sigstore is the sandbox's. The
// tests are built with the tag e2e; -long takes more of each, for figures that are
// to be quoted.
package load
