// Package sigstore runs a real Sigstore on loopback for the end-to-end tests: the servers of the
// public instance, as processes without containers.
//
//  1. PostgreSQL, and Trillian on it: the log server and the signer.
//  2. A CT log on that Trillian.
//  3. Fulcio, with the public instance's configuration for GitHub's tokens and with issuers on
//     loopback.
//  4. Rekor v1 on the same Trillian, and its search index.
//  5. Rekor v2 on files, and a timestamp authority.
//  6. trusted_root.json with all of the above, and the single keys for tools that do not read
//     it.
//
// It has no OpenID issuer: the sandbox issues GitHub's tokens. [Sigstore.Close] stops every
// process.
package sigstore
