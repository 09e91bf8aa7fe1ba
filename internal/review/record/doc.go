// Package record writes into documents who asked for them and who approved that, as the
// commits show it that brought them.
package record
