// Package guard is the admission webhook and the controller of polex-guard. The webhook decides
// whether the API server may store an object. The controller verifies the stored objects again and
// deletes expired exceptions.
//
// [Handler] answers the admission reviews of the API server. A request passes these steps in this
// order and stops at the first one that fails:
//
//  1. The guard limits the bytes, the concurrent requests and the time. A request
//     beyond a limit is denied, and so is a request that causes a panic.
//  2. A DELETE is allowed. CREATE and UPDATE continue. All other operations are denied.
//  3. The object is parsed as strictly as a file. It has to be the object that the
//     request names, in the version in which the request was written.
//  4. An object that is being deleted may only lose finalizers. An update of the
//     status may change only the status, and not that of an exception whose signed message has
//     expired or is revoked.
//  5. The verifier accepts the object (pkg/verify).
//  6. Its namespace is allowed, and it names no other cluster.
//  7. It does not exempt exceptions from the policies that protect them.
//  8. It was not signed before the object that it replaces.
//  9. It names every policy that Kyverno looks up only in the new state of an exception.
//  10. Its namespace has fewer exceptions than the limit.
//
// An update that step 5 or a later step rejects is still allowed if it changes nothing, and the
// signed message of the exception has neither expired nor been revoked. Otherwise a stream of such
// updates could hold up the deletion.
//
// [Handler.ServeDeletion] answers the reviews of the webhook for DELETE. It allows all of them.
//
// [Controller] applies the same rules to stored objects. Each kind of objects has its own loop, so a
// kind that cannot be read holds up no other kind. A deletion that conflicts with an update is repeated in any
// state of the object, once the object was read and verified again.
//
// [Definitions] tells the controller how the cluster defines exceptions. When a definition changes or
// a watch has ended, the controller reads the contents of all objects again: their resourceVersion
// does not show a change of the schema.
//
// [Rules] come from files and are replaced as a whole while the guard runs. The guard keeps no
// other state: it reads the rest from the cluster. Several guards can run at the same time.
package guard
