// Package gitserver serves Git repositories on loopback for the end-to-end tests,
// with git's own daemon: what a GitOps tool or a workflow calls the remote. Whoever
// reaches it may push.
package gitserver
