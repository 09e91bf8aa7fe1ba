// Command refresh updates pkg/trust/publicgood. Run it in the root of the repository. It
//
//  1. fetches trusted_root.json from the public-good TUF repository; sigstore-go verifies it
//     with its embedded TUF root;
//  2. rejects a file that is not a trusted root with a log, a certificate authority and a
//     CT log;
//  3. writes the file, its digest, its origin and the date into trusted_root.json, SOURCE.md
//     and publicgood.go.
//
// It exits 0 if the files are up to date afterwards, otherwise 1.
package main
