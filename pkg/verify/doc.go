// Package verify opens a seal: it decides whether a document is exactly what
// authorities named by a trust policy signed, and still counts.
//
// A [Verifier] goes through these steps, in this order, and stops at the first
// that fails:
//
//  1. The document was parsed strictly (pkg/exception does that).
//  2. Its kind is one that the trust policy speaks of.
//  3. Every signature set is enumerated, and everything is decoded within bounds; a
//     gap or an unknown set is a refusal.
//  4. Each signature is over the message's bytes, by a certificate that chains
//     to the trusted root at the witnessed time, with an SCT, and a log entry
//     that names this very signature, digest and certificate; by a certificate
//     of a certificate authority of the trust policy, in the same way and without
//     an SCT; or by a public key of the trust policy. One bad signature refuses
//     the document.
//  5. The identity comes from that certificate and nowhere else.
//  6. Enough distinct authorities signed, of every group.
//  7. The message is parsed, as strictly as the object, and is of an allowed kind.
//     Until here it is bytes: a bomb in it costs a stranger's document nothing.
//  8. The message is within the limits of each authority that counts.
//  9. Object and message are equal, types included.
//  10. The lifetime: an expiry that is present, not passed and not too far by
//     the rules that speak of the document.
//  11. Nothing of it is withdrawn.
//
// [Verifier.VerifyDetached] takes the same steps for a document without a seal,
// whose bytes a Sigstore bundle beside it signs. [Verifier.Examine] takes the steps up
// to the ninth, none of which depends on the time, and [Examination.At] the others.
//
// What the trusted root promises is what is asked for: a certificate log means
// an SCT, a log means an entry. What is there beyond that has to hold as well. An
// entry of Rekor's version 2 says no time, so a timestamp has to. sigstore-go
// verifies the evidence; the checks here make the refusals precise, and do not
// rely on it where it is lenient. A Verifier remembers the certificates that it
// verified, each at its time, since a batch shares one. With [Verifier.Remember] it
// remembers verified signatures, too. It remembers no refusal.
//
// A *[Verified] is made here and nowhere else. A *[Rejected] is a refusal; any
// other error means undecided, and callers deny both. Verifying does no I/O,
// reads no clock and no environment, and one Verifier serves many goroutines.
package verify
