// Package flux runs Flux's real kustomize-controller on loopback for the end-to-end tests. It
// applies objects to a cluster of [cluster.Start].
//
// There is no source-controller, which fetches. [Flux.Publish] publishes a commit as the artifact
// of a GitRepository instead.
package flux
