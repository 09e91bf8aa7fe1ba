// Package plain makes untrusted text safe to print.
package plain
