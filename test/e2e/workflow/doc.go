// Package workflow runs the workflows that users copy, from the actions' READMEs and from
// examples/github, with package github: without containers and without a network. The sandbox plays
// Sigstore and GitHub's token endpoint. The tests are built with the tag e2e; `make e2e` builds act
// and runs them.
package workflow
