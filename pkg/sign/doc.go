// Package sign makes seals: it signs a batch of documents with one identity and
// hands out only what pkg/verify accepts.
//
//  1. Every document of the batch is prepared first: its schema is checked, its
//     lifetime resolved to a time, the kind's defaults written in, so that the
//     live object will be exactly what was signed. One that fails stops the
//     batch before anything is asked of Sigstore.
//  2. One key, one token and one certificate serve the whole batch (keyless),
//     or a private key does. The certificate has to be for that key, for the
//     identity that the token names, and valid at every upload.
//  3. The signatures are stamped by a timestamp authority, where one is asked,
//     and uploaded to the log in parallel, within a bound. The log's entry is the
//     one that the upload itself answers with: it is never searched for. An
//     upload whose answer was lost is fetched by the hash of what was sent.
//  4. Each sealed document is verified as anybody else would verify it, while the
//     next ones are uploaded.
//
// A server that fails is asked again, within bounds. A failure anywhere hands out nothing.
package sign
