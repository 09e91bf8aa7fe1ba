// Package gitserver serves Git repositories on loopback for the end-to-end tests, with git's own
// daemon. They are the remotes of GitOps tools and workflows. Everybody may push.
package gitserver
