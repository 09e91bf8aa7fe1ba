// Package attacks is the attack corpus: documents that an attacker could give to a verifier. Each
// case has the trust policy, the trusted root and the time of the verification, and the expected
// reason of the rejection. Some cases are honest documents: they show that the verifier rejects
// only the attack.
//
// Each case is one file of corpus/, in the folder of its reason. It is a txtar archive that begins
// with the expected result, and names its policy and its trusted root. To try a case by hand, write
// its files into one folder and run
//
//	polex-verify --config policy.yaml exception.yaml
//
// The result is the same until the document expires. The tests of pkg/verify forge the cases, so
// that each has exactly one fault.
package attacks
