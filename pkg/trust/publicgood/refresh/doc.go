// Command refresh brings pkg/trust/publicgood up to date. Run from the
// repository's root, it
//
//  1. fetches trusted_root.json from the public-good TUF repository, which
//     sigstore-go verifies from the TUF root that it embeds;
//  2. refuses what does not parse as a trusted root with a log, a certificate
//     authority and a certificate transparency log;
//  3. writes it, and its digest, origin and date, into trusted_root.json,
//     SOURCE.md and publicgood.go.
//
// It exits 0 if the files are up to date afterwards, 1 if not.
package main
