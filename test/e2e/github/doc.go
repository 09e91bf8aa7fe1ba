// Package github plays GitHub on this machine, for workflows as people copy them:
// without containers, and without a network.
//
//   - act is the runner. It does itself what actions/checkout would, by copying the
//     repository. actions/setup-go, actions/upload-artifact and
//     actions/download-artifact are stood in for by the actions in testdata, the
//     last two by copying a folder.
//   - A bare repository is the remote. What is merged is merged there as by the
//     button of a pull request.
//   - An API says who approved: every merge on main of the remote is a pull request.
//
// Who mints the jobs' tokens, and which Sigstore takes them, is for who plays.
package github
