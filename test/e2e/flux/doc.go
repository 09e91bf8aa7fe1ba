// Package flux runs Flux's kustomize controller, the real one, on loopback for the
// end-to-end tests: the part of Flux that applies, on a cluster that [cluster.Start]
// began.
//
// The part that fetches is not there, since a module that source-controller needs is
// not published: [Flux.Publish] does what it would, and hands a commit on as the
// artifact of a GitRepository.
package flux
