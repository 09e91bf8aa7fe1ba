// Package static writes and reads the files from which an API server takes the webhook and the policies
// of the guard (KEP-5793, manifest-based admission). The API neither shows nor changes these objects, and
// they apply before the first request.
//
//  1. [Build] makes the files from the manifests of policies/.
//  2. [Read] reads the folder of an admission plugin, and [Manifests.Hash] is the hash that an API
//     server states in its metrics.
//  3. [Parse] checks what the API server demands of these files.
package static
