// Package e2e tests polex with real programs: an API server, Kyverno and a workflow runner. The
// tests are built with the tag e2e, because the first build of these programs takes minutes. `make
// e2e` builds them and runs the tests.
package e2e
