// Package guard runs polex-guard with a real API server, for its own tests and for others.
//
// Its tests use the released programs, the registered webhook, and requests like those of clients.
// The Sigstore is the sandbox. They are built with the tag e2e; `make e2e` builds the required
// programs.
package guard
