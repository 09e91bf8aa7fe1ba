// Package guard runs polex-guard beside a real API server, for its own tests and for
// others.
//
// Its tests hold it against that API server: the processes that ship, the webhook as
// it is registered, and requests as clients make them. The Sigstore is the sandbox's.
// They are built with the tag e2e; `make e2e` builds the programs that they need.
package guard
