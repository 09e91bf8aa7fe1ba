// Package sandbox runs a whole Sigstore on loopback, in this process, for trials and tests.
//
// It uses the real implementations if they are available as packages:
//
//  1. an OpenID issuer that mints GitHub's workflow tokens, and GitHub's token endpoint;
//  2. Fulcio's server and certificate authority, which issue certificates for ten minutes;
//  3. a certificate transparency log (RFC 6962), whose timestamps Fulcio embeds in certificates;
//  4. Rekor's APIs of version 1 and version 2, each with its own Merkle tree and key, and with
//     Rekor's own parsers and checks of entries;
//  5. a timestamp authority (RFC 3161);
//  6. trusted_root.json, polex.yaml and polex-rekor-v2.yaml, which trust all of the above.
//
// For attacks, Options.Intercept makes a server misbehave on the wire, and the Forge functions use
// the keys as a compromised service would.
//
// Its certificates and signatures have no value outside the sandbox. Start generates the keys,
// which exist only in memory until Close. Every user who can read its folder can request a token
// for any identity. Only tests and internal/command/sandbox may import this package. Its root is
// trusted only where a person configures its path.
package sandbox
