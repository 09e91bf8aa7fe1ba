// Package cluster is the guard's side of the API server: what is stored
// ([Store]), who is told of it ([Teller]: Events, reports and the log), and
// which guard it is that writes ([Lead]).
//
// Objects are watched in the version that the API server prefers, and read in
// another one where their message names it. Of each its name and state are kept, and
// what is in it is read again when it is asked for. Reading is done by every guard,
// writing by the one that holds the lease.
package cluster
