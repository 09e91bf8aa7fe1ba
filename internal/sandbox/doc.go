// Package sandbox runs a whole Sigstore on loopback, in this process, to try polex and to test with.
//
// What answers here is the real thing wherever the real thing can be had as a package:
//
//  1. an OpenID issuer that mints GitHub's workflow tokens, and GitHub's own endpoint for requesting them;
//  2. Fulcio's server and certificate authority, which check those tokens and issue ten-minute certificates;
//  3. a certificate transparency log (RFC 6962) whose timestamps Fulcio embeds in them;
//  4. Rekor's APIs of version 1 and version 2, each over a Merkle tree of its own with a key of its own, with Rekor's own
//     parsing and checking of entries;
//  5. a timestamp authority (RFC 3161);
//  6. trusted_root.json, polex.yaml and polex-rekor-v2.yaml, which say that all of the above is trusted.
//
// For attacks there is more: Options.Intercept makes a server misbehave on the wire, and the Forge functions
// use its keys as a compromised service would.
//
// Nothing it issues is worth anything outside of it: its keys are made at Start, live in memory and die at
// Close, and whoever can read its folder is given any identity they name. No package outside of tests and
// internal/command/sandbox may import it, and it is a trust root only where somebody wrote its path.
package sandbox
