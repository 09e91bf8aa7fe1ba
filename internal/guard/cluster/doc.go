// Package cluster connects the guard with the API server. [Store] reads and deletes the stored
// objects. [Teller] writes Events, reports and the log. [Lead] elects the guard that writes.
//
// The reflector of client-go lists and watches each kind, and the definitions of exceptions
// ([Definitions]). The kinds are independent: one that cannot be listed or watched is reported, and
// the others go on. Every request has a time limit.
//
// client-go's recorder does not write the Events: it has one queue for all of them, and a user who
// causes many would keep warnings out.
//
// Objects are watched in the version that the API server prefers. If a message names another
// version, the object is read in that one. The store watches their metadata, keeps the name and the
// state of each object, and reads its content when it is needed. Every guard reads; only the guard with
// the lease writes.
package cluster
