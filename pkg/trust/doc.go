// Package trust reads the trust policy and the trusted root. The trust policy lists the authorities
// (the trusted signers), the number and groups of required signers, the limits of each signer, the
// maximum lifetime of exceptions, and revoked signatures. The trusted root lists the certificate
// authorities, logs and timestamp authorities that polex accepts evidence from.
//
// An authority is a keyless identity or a public key. Evidence of one type never counts for the
// other.
//
// Everything is checked when it is loaded. A policy that would accept any signer, or could never
// accept a document, is an error at that time, not a later verdict. The package reads no
// environment variables and nothing from the verified documents.
package trust
