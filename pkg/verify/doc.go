// Package verify decides whether a document is signed by the authorities of a trust policy,
// unmodified, and not expired.
//
// A [Verifier] takes these steps in this order, and stops at the first that fails:
//
//  1. The document was parsed strictly (pkg/exception does that).
//  2. Its kind is in the trust policy.
//  3. Every signature set is read within limits. A gap in the numbering or an unknown set is
//     a rejection.
//  4. Each signature is over the bytes of the message. It is made with a certificate that
//     chains to the trusted root at the proven time and has an SCT, and a log entry names
//     this signature, digest and certificate. A key in the trust policy needs no
//     certificate. One bad signature rejects the document. First come the names in the
//     certificates, then their issuers, and last the operations with the keys in them:
//     anybody can write a certificate with a slow key.
//  5. The identity comes from that certificate only.
//  6. Enough distinct authorities signed, in every group.
//  7. The message is parsed as strictly as the object, and its kind is allowed. Before this
//     step nothing parses the message: without trusted signers it cannot cause such work.
//  8. The message is within the limits of each authority that counts.
//  9. Object and message are equal, types included.
//  10. The expiry is present, not passed, and within the maximum lifetime of the document.
//  11. Neither the message nor its signatures are revoked.
//
// [Verifier.VerifyDetached] takes the same steps for a document with a Sigstore bundle in a file of
// its own. [Verifier.Examine] takes the steps 2 to 9, which do not depend on the time, and
// [Examination.At] takes the others.
//
// The trusted root determines the required evidence. A CT log requires an SCT, and a Rekor log
// requires a log entry. Evidence that is not required must be valid too. An entry of Rekor v2 has
// no time, so it requires a timestamp. sigstore-go verifies the evidence. The checks here give
// precise reasons, and close gaps where sigstore-go is lenient.
//
// A Verifier remembers verified certificates, each with the time in which its chain is valid, since
// the documents of a batch share one. With [Verifier.Remember] it also remembers verified
// signatures. It never remembers a rejection.
//
// Only this package makes a *[Verified]. A *[Rejected] is a rejection; any other error means that
// polex could not decide, and callers deny both. This package does no I/O and reads neither the
// clock nor the environment. Many goroutines can use one Verifier.
package verify
