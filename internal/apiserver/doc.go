// Package apiserver reads collections of a Kubernetes API server, page by page. How many
// bytes and pages it takes, and for how long it waits, is bounded.
package apiserver
