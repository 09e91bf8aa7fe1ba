package kyverno

import (
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// reportKinds are the kinds of reports by API group.
var reportKinds = map[string][]string{
	"wgpolicyk8s.io": {"PolicyReport", "ClusterPolicyReport"},
	// Kyverno's CLI uses the last two.
	"openreports.io":     {"Report", "ClusterReport", "PolicyReport", "ClusterPolicyReport"},
	"reports.kyverno.io": {"EphemeralReport", "ClusterEphemeralReport"},
}

// IsReport reports whether a kind is one of policy reports.
func IsReport(kind exception.GroupKind) bool {
	return slices.Contains(reportKinds[kind.Group], kind.Kind)
}

// reportedKinds are the kinds of policies by Kyverno's name for the source of a report result.
var reportedKinds = map[string]string{
	"KyvernoValidatingPolicy":      "ValidatingPolicy",
	"KyvernoImageValidatingPolicy": "ImageValidatingPolicy",
	"KyvernoMutatingPolicy":        "MutatingPolicy",
	"KyvernoGeneratingPolicy":      "GeneratingPolicy",
}

// ReportedKind returns the kind of the policy of a report result, by the result's source and the
// policy's name, which contains a namespace if the policy has one. It returns false for a result of
// another tool (SourceKyverno in pkg/utils/report of Kyverno 1.19.1).
func ReportedKind(source, policy string) (kind string, known bool) {
	namespaced := strings.Contains(policy, "/")
	kind, known = reportedKinds[source]
	switch {
	case known && namespaced:
		return "Namespaced" + kind, true
	case known:
		return kind, true
	case source == "kyverno" && namespaced:
		return namespacedPolicy, true
	case source == "kyverno":
		return clusterPolicy, true
	}
	return "", false
}
