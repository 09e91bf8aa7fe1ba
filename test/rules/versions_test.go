package rules_test

import (
	"regexp"
	"strings"
	"testing"
)

// tested are the modules of the programs in the table of tested versions.
var tested = map[string]string{
	"Kubernetes":                         "k8s.io/kubernetes",
	"etcd":                               "go.etcd.io/etcd/server/v3",
	"Kyverno":                            "github.com/kyverno/kyverno",
	"Fulcio":                             "github.com/sigstore/fulcio",
	"Rekor (log version 1)":              "github.com/sigstore/rekor",
	"Rekor (log version 2)":              "github.com/sigstore/rekor-tiles/v2",
	"cosign":                             "github.com/sigstore/cosign/v3",
	"Argo CD":                            "github.com/argoproj/argo-cd/v3",
	"Flux's kustomize-controller":        "github.com/fluxcd/kustomize-controller",
	"Flux's source-controller":           "github.com/fluxcd/source-controller",
	"Helm":                               "helm.sh/helm/v4",
	"act (a runner of GitHub workflows)": "github.com/nektos/act",
}

// TestVersions: docs/how-to/install.md lists the versions that the end-to-end tests run.
func TestVersions(t *testing.T) {
	_, rest, _ := strings.Cut(string(read(t, "docs/how-to/install.md")), "| program |")
	table, _, _ := strings.Cut(rest, "\n\n")
	rows := regexp.MustCompile(`(?m)^\| ([^|]+) \| ([0-9.]+) \| (\S+) \|$`).FindAllStringSubmatch(table, -1)
	if len(rows) != len(tested) {
		t.Errorf("there are %d rows, want %d", len(rows), len(tested))
	}
	for _, row := range rows {
		if module := tested[row[1]]; !strings.Contains(string(read(t, row[3]+"/go.mod")), "\t"+module+" v"+row[2]+" ") {
			t.Errorf("%s/go.mod has another version of %s (%q) than %s", row[3], row[1], module, row[2])
		}
	}
}
