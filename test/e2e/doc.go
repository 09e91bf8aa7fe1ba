// Package e2e holds polex against what its answers are about and what it runs
// in: a real API server, a real Kyverno and a runner of workflows. The tests are
// built with the tag e2e, for they need programs that take minutes to build the
// first time; `make e2e` builds them and runs the tests.
package e2e
