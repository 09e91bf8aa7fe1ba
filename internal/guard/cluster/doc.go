// Package cluster connects the guard with the API server. [Store] reads and deletes the stored
// objects. [Teller] writes Events, reports and the log. [Lead] elects the guard that writes.
//
// Objects are watched in the version that the API server prefers. If a message names another
// version, the object is read in that one. The store keeps the name and the state of each object,
// and reads its content when it is needed. Every guard reads; only the guard with the lease writes.
package cluster
