// Package exception reads the documents that polex judges: PolicyExceptions of
// both API groups, and any other Kubernetes object when a trust policy names
// its kind.
//
// Everything that reaches this package is hostile until somebody has verified
// it, so reading is strict and bounded:
//
//  1. A stream is cut into documents at its "---" lines; a document is at most
//     [MaxDocument] bytes and a stream at most [MaxStream].
//  2. The text is UTF-8 without control characters, and every line ends in a
//     newline that YAML 1.1, YAML 1.2 and JSON agree on.
//  3. A document is one mapping: no aliases, no tags, no duplicate keys, no
//     merge keys, nothing behind it, at most [MaxDepth] levels.
//  4. A plain scalar that YAML 1.1 and YAML 1.2 read differently ("on", "0o17",
//     "1:30") is refused rather than guessed: the reviewer, the signer and the
//     cluster must read the same value.
//
// What comes out is a tree of map[string]any, []any, string, bool, int64,
// float64 and nil, the types of Kubernetes' own unstructured objects, together
// with the place in the source of every value.
//
// The package does no I/O beyond the reader it is given and knows no clock.
package exception
