package exception

// Limits of the input. They bound memory and time before any signature is verified.
const (
	// MaxDocument is the maximum size of a document in bytes. The API server accepts 256 KiB of annotations and kubectl
	// apply writes the object into one of them. A real exception has a few KiB.
	MaxDocument = 512 << 10
	// maxLarge is the same for [Reader.Large]: etcd stores at most 1.5 MiB for an object.
	maxLarge = 1 << 20
	// MaxStream is the maximum size of a stream of documents in bytes.
	MaxStream = 256 << 20
	// MaxDocuments is the maximum number of documents in a stream, the empty ones included. The largest known cluster
	// has a few thousand exceptions.
	MaxDocuments = 50_000
	// MaxNodes is the maximum number of values, lines and separators in a document. They are
	// counted before it is parsed, and take about 15 MB and 20 ms. A real exception has a few
	// hundred.
	MaxNodes = 10_000
	// maxLargeNodes is the same for [Reader.Large].
	maxLargeNodes = 250_000
	// maxExpanded is the maximum size in bytes of all keys and values with aliases written out.
	maxExpanded = 8 << 20
	// maxDigits is the maximum number of digits in a row. Readers of YAML match a value with several regular
	// expressions to find out if it is a number.
	maxDigits = 1000
	// maxLongDigits is the maximum number of digits beyond the 32nd of each row, in a document.
	maxLongDigits = 64 << 10
	// maxWords is the maximum number of words, backslashes and quotes in a document. Readers of YAML copy a text
	// word by word, and decode an escape or a doubled quote on its own.
	maxWords = 100_000
	// maxRendered is the maximum size in bytes of a document that kustomize is asked about, which takes more than all
	// other reading. A value, line or separator takes as long as renderedNode bytes, and a word as renderedWord.
	maxRendered  = 160 << 10
	renderedNode = 128
	renderedWord = 16
	// MaxDepth is the maximum number of nested levels in a document.
	MaxDepth = 64
)
