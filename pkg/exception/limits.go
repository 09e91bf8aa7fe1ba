package exception

// Limits of what is read. They bound memory and time before any signature has
// been checked.
const (
	// MaxDocument is the most bytes that one document may have. The API server
	// stores at most 1.5 MiB of an object, and a real exception has a few KiB.
	MaxDocument = 1 << 20
	// MaxStream is the most bytes that are read from one stream of documents.
	MaxStream = 256 << 20
	// MaxNodes is the most values, lines and separators of one document, counted in its
	// text before it is parsed: some 15 MB and 20 ms. A real exception has a few hundred.
	MaxNodes = 10_000
	// maxLargeNodes is the same for what [Reader.Large] reads.
	maxLargeNodes = 250_000
	// maxExpanded is the most bytes of keys and values that a document has when its aliases
	// are written out.
	maxExpanded = 8 << 20
	// MaxDepth is the most levels of nesting in a document.
	MaxDepth = 64
)
