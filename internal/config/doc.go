// Package config reads .polex.yaml: the one place that knows where the file is, which
// sections it has and how their values are checked. It reads a file once and as a whole.
//
// The sections directories, lifetime, promote and sigstore are types of this package.
// The others belong to the packages that act on them: shape to pkg/shape, guard to
// internal/guard and trust to pkg/trust. A command reads those with [Config.Section], or
// with trust.Read, so that no binary links a package that it does not use.
//
// docs/polex.schema.json and docs/reference/configuration.md are generated from the types:
//
//	json     the key
//	doc      a sentence about it
//	default  what holds without the key
//	enum     the values that it may have, separated by spaces
//	min, max the limits of an integer
//	format   duration, address or version
//	by       the commands that read it; without it, those of the section
package config

//go:generate go test -run ^TestGenerated$ . -update
