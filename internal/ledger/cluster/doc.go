// Package cluster reads the exceptions of a cluster, from its API server or from what
// kubectl wrote, for a ledger to be compared with.
package cluster
