// Package prune takes exceptions that have ended out of a repository.
//
// What has ended is gone from Git first, so that nothing re-creates in a cluster
// what was deleted there. An exception has ended when the time that it states has
// come. No signature is asked for that: to take an exception away opens nothing,
// and what is not as it was signed is for whoever verifies to refuse.
//
// A file leaves when all of its exceptions have ended; of one that holds others
// too, those stay, byte for byte. A file that cannot be read whole, or one whose
// exception states times that cannot be read, is left alone and named.
package prune
