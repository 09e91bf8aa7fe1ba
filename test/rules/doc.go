// Package rules tests the design rules of the repository: the allowed imports and I/O of each
// package, the names and documentation of packages, and words that no file may contain.
package rules

//go:generate go test -run ^TestReasonsPage$ . -update
