// Package trust says whose signature counts: the trust policy (which
// authorities, how many of them and of which groups, what each may sign, how long
// an exception may live, what is withdrawn) and the trusted root (the certificate
// authorities, logs and timestamp authorities whose evidence counts).
//
// An authority is a keyless identity, whom a certificate authority of one's own
// names, or a public key. Evidence of one sort never counts for another.
//
// Everything is checked when it is loaded. A policy that would accept anyone,
// or could never accept anything, is an error then and not a verdict later. No
// environment variable is read, and nothing that is verified has a say.
package trust
