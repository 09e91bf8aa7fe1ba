// Package sign signs a batch of documents with one identity, and returns them only if pkg/verify
// accepts all of them.
//
//  1. It prepares every document first: it checks the schema, converts the lifetime to an
//     expiry, and writes the kind's defaults, so that the live object equals the signed
//     message. A failure stops the batch before any request to Sigstore.
//  2. One key, one token and one certificate (keyless), or one private key, signs the batch.
//     The certificate must name that key and the identity of the token, and be valid at
//     every upload.
//  3. It gets a timestamp for each signature if a timestamp authority is configured, and
//     uploads the signatures to the log, a limited number in parallel. The log entry comes
//     from the answer to the upload, never from a search. If that answer is lost, it fetches
//     the entry by the hash of the uploaded content.
//  4. It verifies each signed document, while it uploads the next ones.
//
// It retries failed requests, within limits. After any failure it returns no document.
package sign
