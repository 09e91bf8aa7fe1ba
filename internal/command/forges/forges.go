// Package forges picks the forge. A new forge is a folder in internal/forge and a line here.
package forges

import (
	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/forge/github"
)

// Names returns the names of the forges in flags.
func Names() []string { return []string{github.Name} }

// Workflow returns the job of a forge's CI system that the environment describes.
func Workflow(getenv func(string) string) forge.Workflow { return github.Workflow(getenv) }
