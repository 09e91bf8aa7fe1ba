// Package wildcard matches patterns as Kyverno 1.19 does. "*" is any text, "?" is any one
// character, and all other characters are literal. A [Meter] limits the work for one document.
package wildcard
