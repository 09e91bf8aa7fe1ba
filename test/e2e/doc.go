// Package e2e holds polex against the servers that its answers are about: a real
// API server and a real Kyverno. The tests are built with the tag e2e, for they
// need programs that take minutes to build the first time; `make e2e` builds
// them and runs the tests.
package e2e
