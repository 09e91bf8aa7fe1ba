// Package protect holds the admission policies that keep others from changing the guard.
package protect

import "embed"

// Files are those policies and their bindings, without the names of administrators.
//
//go:embed *.yaml
var Files embed.FS
