// Package load sends many valid and forged exceptions to a real API server with polex-guard, and
// compares the guard with Kyverno's own check of signatures. It asserts verdicts, and that the
// guard's memory does not grow. It prints times, memory and their ratios. The Sigstore is the
// sandbox. The tests are built with the tag e2e; -long repeats more often, for published numbers.
package load
