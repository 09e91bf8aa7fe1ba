package schema

// Definitions is the file of definitions.
var Definitions = &definitions

// IsKnown reports whether a version of a group is known.
func IsKnown(group, version string) bool {
	_, known := schemaOf(group, version)
	return known
}
