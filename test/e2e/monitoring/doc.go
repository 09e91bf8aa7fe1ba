// Package monitoring holds policies/alerts and policies/dashboard against what they
// speak of.
//
// Some tests only read them: that each alert has a runbook, and a test that makes it
// fire, and that the dashboard is one. Others are built with the tag e2e. They run the
// alerts' tests in promtool, give the manifests to a real API server that knows the
// Prometheus operator's kinds, and look for every metric, label and value that a query
// names in what polex-guard, polex-audit and Kyverno measure while they run. `make
// e2e` builds the programs that they need.
package monitoring
