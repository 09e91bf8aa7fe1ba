// Package policies holds the manifests that polex-guard reads: the policies that protect it, for its
// check, and the sources of the static files for an API server.
package policies

import "embed"

// Files are these manifests, without the names of administrators and writers.
//
//go:embed guard/base/webhook.yaml guard/base/rbac.yaml guard/protect/*.yaml guard/static/*.yaml rbac/base/writers.yaml
var Files embed.FS
