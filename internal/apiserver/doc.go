// Package apiserver reads collections of a Kubernetes API server page by page. It limits the bytes,
// the pages and the waiting time.
package apiserver
