// Package workflow plays the workflows that people copy, from the actions' READMEs
// and from examples/github, with act: on this machine, without containers and
// without a network. The tests are built with the tag e2e; `make e2e` builds act and
// runs them.
//
// What GitHub would fetch lies in folders. act itself does what actions/checkout
// would, by copying the repository. actions/setup-go, actions/upload-artifact and
// actions/download-artifact are stood in for by the actions in testdata, the last
// two by copying a folder. The sandbox plays Sigstore, and GitHub's endpoint for
// tokens.
package workflow
