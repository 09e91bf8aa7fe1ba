// Package manifest is what is looked for in any document of Kubernetes: which
// kinds a selector means and what is known of them, and the texts in it.
package manifest
