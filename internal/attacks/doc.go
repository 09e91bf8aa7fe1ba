// Package attacks is the attack corpus: documents that somebody could put
// before a verifier, each with the trust policy, the trusted root and the time
// that it is judged by, and the reason that it has to be refused for. Some are
// honest, and show that a refusal is about what it says.
//
// Each case is one file of corpus/, in the folder of its reason: a txtar archive that
// begins with what is expected, and names its policy and its trusted root. It can be
// tried by hand: with its files side by side,
//
//	polex-verify --config policy.yaml exception.yaml
//
// says the same for as long as the document has not expired. The cases are
// forged by the tests of pkg/verify, so that each is wrong in one way only.
package attacks
