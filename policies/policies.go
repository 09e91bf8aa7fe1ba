// Package policies holds the manifests that polex-guard check reads: the policies that protect the
// guard.
package policies

import "embed"

// Files are these manifests, without the names of administrators.
//
//go:embed guard/protect/*.yaml
var Files embed.FS
