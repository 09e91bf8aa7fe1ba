// Package static reads the files from which an API server takes the webhook and the policies of the
// guard (KEP-5793, manifest-based admission). The API neither shows nor changes these objects, and they
// apply before the first request. kustomize builds the files from policies/guard/static.
//
// [Read] reads the folder of an admission plugin, and [Manifests.Hash] is the hash that an API server
// states in its metrics.
package static
