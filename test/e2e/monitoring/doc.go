// Package monitoring tests policies/alerts and policies/dashboard.
//
// Some tests only read them: each alert has a runbook and a test that makes it fire, and the
// dashboard is valid. Others are built with the tag e2e. They run the alerts' tests in promtool,
// and apply the manifests to a real API server with the Prometheus operator's kinds. They look for
// every metric, label and value of a query in the metrics of running polex-guard, polex-audit and
// Kyverno. `make e2e` builds the required programs.
package monitoring
