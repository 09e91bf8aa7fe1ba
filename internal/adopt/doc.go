// Package adopt plans how a repository with existing exceptions starts to use polex. Each exception
// moves to the folder of pending exceptions, in its deployed form and with an expiry.
//
//  1. The deployed forms come from objects: of a cluster, or of a stream that the team's own tools
//     rendered. adopt renders nothing.
//  2. Without such an object, a plain file gives the form, unless a kustomization, a deployer or a
//     template could change it on its way to the cluster.
//  3. What servers and deployers added is removed. Comments and the order of fields stay, if one
//     file of the repository has the exception.
//  4. A stated expiry stays. The other expiries are spread over a window.
//  5. The old document leaves its file, and an empty file leaves its kustomization, if nothing else
//     uses it. Everything else is left for people, with the reason.
//
// The package does no I/O and reads no clock: its input is files and streams, its output is a [Plan].
package adopt
