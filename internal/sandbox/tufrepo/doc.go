// Package tufrepo is a TUF repository in memory, for tests of TUF clients.
//
// go-tuf signs its metadata. For attacks, a test can replace files or sign expired metadata.
package tufrepo
