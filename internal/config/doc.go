// Package config reads .polex.yaml. It defines the file's location, its sections and the checks of
// their values. It reads the whole file once.
//
// The sections directories, statements, lifetime, promote and sigstore are types of this package.
// The others belong to the packages that use them: shape to pkg/shape, guard to internal/guard and
// trust to pkg/trust. A command reads those with [Config.Section] or trust.Read, so that no binary
// links an unused package.
//
// docs/polex.schema.json and docs/reference/configuration.md are generated from tags of the types:
//
//	json     the key
//	doc      a sentence about it
//	default  the behaviour without the key
//	enum     the allowed values, separated by spaces
//	min, max the limits of an integer
//	keys     the keys of a map, separated by spaces
//	format   duration, address or key
//	form     how a text is written, with {key} for each key of the mapping that it was
//	by       the commands that read it; without it, those of the section
package config

//go:generate go test -run ^TestGenerated$ . -update
