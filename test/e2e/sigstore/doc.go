// Package sigstore runs a real Sigstore on loopback for the end-to-end tests: the
// servers that the public instance runs, as processes, without a container
// engine.
//
//  1. PostgreSQL, and Trillian on it: the log server and the signer.
//  2. A certificate transparency log on that Trillian.
//  3. Fulcio, with the public instance's own configuration of GitHub's tokens,
//     for issuers on loopback.
//  4. Rekor 1 on the same Trillian, and its search index.
//  5. Rekor 2 on files, and a timestamp authority.
//  6. trusted_root.json, which says that all of the above is trusted, and the
//     keys one by one for tools that do not read it.
//
// The OpenID issuer is not among them: the sandbox has one that mints GitHub's
// tokens. Every process is ended by [Sigstore.Close].
package sigstore
