// Package github plays GitHub on this machine, for workflows as users copy them, without containers
// and without a network.
//
//   - act is the runner. It replaces actions/checkout by a copy of the repository. Actions in
//     testdata replace actions/setup-go, actions/upload-artifact and actions/download-artifact;
//     the last two copy a folder.
//   - A bare repository is the remote. A merge there is like one with the button of a pull
//     request.
//   - An API returns the approvers. Every merge on main of the remote is a pull request.
//
// The caller provides the issuer of the jobs' tokens and the Sigstore.
package github
