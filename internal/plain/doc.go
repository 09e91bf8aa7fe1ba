// Package plain makes hostile text safe to show.
package plain
