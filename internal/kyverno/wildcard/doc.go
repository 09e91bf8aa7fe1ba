// Package wildcard matches patterns as Kyverno 1.19 does: "*" is any text, "?" any
// one character, and nothing else is special. What one document can ask for is
// bounded by a [Meter].
package wildcard
