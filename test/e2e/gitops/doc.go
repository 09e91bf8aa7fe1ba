// Package gitops tests polex with the real Argo CD and Flux. It applies the files of
// examples/argocd and examples/flux unchanged, and syncs signed/ from a Git server, with and
// without polex-guard. The Sigstore is the sandbox. The tests are built with the tag e2e; `make
// e2e` builds the required programs.
package gitops
