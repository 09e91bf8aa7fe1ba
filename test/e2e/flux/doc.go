// Package flux runs Flux's real kustomize-controller on loopback for the end-to-end tests, and its
// real source-controller if asked. They apply objects to a cluster of [cluster.Start].
//
// Without source-controller, which fetches, [Flux.Publish] publishes a commit as the artifact of a
// GitRepository instead.
package flux
