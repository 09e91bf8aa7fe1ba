// Package guard is the last gate: in the cluster, it decides whether an object
// may be stored, looks again at what is stored, and ends what has expired.
//
// [Handler] answers the API server's admission reviews. A request goes through
// these steps, in this order, and stops at the first that fails:
//
//  1. It is bounded: its bytes, the requests at once, and the time. What is beyond
//     a bound is denied, and so is what panics.
//  2. A DELETE is allowed; CREATE and UPDATE go on; nothing else is allowed.
//  3. The object is parsed as strictly as a file, and is the one that the request
//     names, in the version that the request was written in.
//  4. An object that is being deleted may lose finalizers and change in nothing
//     else; a status may change and nothing beside it.
//  5. The verifier accepts it (pkg/verify).
//  6. It stands where it may, and in the cluster that it names.
//  7. It does not exempt exceptions from what guards them.
//  8. It is not older than what it replaces.
//  9. There are not too many in its namespace.
//
// An update that is refused in the steps from 5 on, and that leaves the object as it
// is, is allowed all the same.
//
// [Handler.ServeDeletion] answers the reviews of DELETE that have a webhook of their
// own, and allows every one.
//
// [Controller] asks the same of what is stored, and of an exception whether [Git]
// holds it, which no request is asked.
//
// [Handler.ServeVerify] answers others than the API server, such as a policy of
// Kyverno's, by the same steps.
//
// What is decided by, [Rules], is made of files and replaced as a whole while the
// guard runs. There is no state beside it: what the guard knows of the cluster it
// has read from the cluster, and any number of them run side by side.
package guard
