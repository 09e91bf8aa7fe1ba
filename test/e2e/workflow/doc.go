// Package workflow plays the workflows that people copy, from the actions' READMEs
// and from examples/github, as package github does: on this machine, without
// containers and without a network. The sandbox plays Sigstore, and GitHub's endpoint
// for tokens. The tests are built with the tag e2e; `make e2e` builds act and runs
// them.
package workflow
