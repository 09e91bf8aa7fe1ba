// Package flux runs Flux's kustomize controller, the real one, on loopback for the
// end-to-end tests: the part of Flux that applies, on a cluster that [cluster.Start]
// began.
//
// The part that fetches, source-controller, is played: [Flux.Publish] hands a commit on
// as the artifact of a GitRepository.
package flux
