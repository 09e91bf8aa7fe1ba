// Package cluster reads the exceptions of a cluster from its API server or from the output of
// kubectl. The audit report compares them with the signed exceptions in Git.
package cluster
