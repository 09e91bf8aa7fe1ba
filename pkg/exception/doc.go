// Package exception reads and writes Kubernetes documents: PolicyExceptions of both API groups, and
// objects of any other kind that a trust policy accepts.
//
// The input is hostile until it is verified, so reading is strict and has limits:
//
//  1. A stream is split into documents at its "---" lines. A document has at most
//     [MaxDocument] bytes, a stream at most [MaxStream] and [MaxDocuments].
//  2. The text is UTF-8 without control characters. Every line ends with a newline that YAML
//     1.1, YAML 1.2 and JSON agree on.
//  3. A document is one mapping without aliases, tags, duplicate keys and merge keys, with at
//     most [MaxDepth] levels. Nothing follows it.
//  4. A plain scalar that YAML 1.1 and YAML 1.2 read differently ("on", "0o17", "1:30") is
//     rejected: the reviewer, the signer and the cluster must read the same value.
//  5. A document that kubectl reads as another object is rejected, and one that kustomize renders to another object.
//
// The result is a tree of map[string]any, []any, string, bool, int64, float64 and nil, the types of
// Kubernetes' unstructured objects. Every value has its position in the source.
//
// The package does no I/O except through the given [io.Reader], and does not read the clock.
package exception
