// Package gitops holds what polex says about Argo CD and Flux against the real ones:
// the files of examples/argocd and examples/flux are applied as they are, signed/ is
// synced from a Git server, and polex-guard stands before the API server, or does
// not. The Sigstore is the sandbox's. The tests are built with the tag e2e; `make
// e2e` builds the programs that they need.
package gitops
