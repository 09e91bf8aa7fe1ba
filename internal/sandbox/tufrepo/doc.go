// Package tufrepo is a TUF repository in memory, to test what fetches from one.
//
// It is a real one: go-tuf makes and signs its metadata, with keys that live as
// long as it does. For attacks its files can be replaced, and its metadata signed
// to be over.
package tufrepo
