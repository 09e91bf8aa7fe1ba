// Package guard holds polex-guard against a real API server: the processes that
// ship, the webhook as it is registered, and requests as clients make them. The
// Sigstore is the sandbox's. The tests are built with the tag e2e; `make e2e`
// builds the programs that they need.
package guard
