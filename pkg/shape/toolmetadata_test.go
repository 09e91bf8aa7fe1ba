package shape_test

import (
	"os"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
	"github.com/polex-dev/polex/test/expect"
)

var toolMetadataCases = []change{
	{name: "an exported one", of: legacy, old: "  annotations:\n", new: "  labels: {app.kubernetes.io/instance: old, app.kubernetes.io/name: web}\n  annotations:\n    argocd.argoproj.io/tracking-id: x\n",
		want: []string{`6 tool-metadata metadata.labels["app.kubernetes.io/instance"]`, `8 tool-metadata metadata.annotations["argocd.argoproj.io/tracking-id"]`}},
	{name: "a key of the trust policy, with any value", config: shape.Config{Allowed: policyfile.AllowedMetadata{Labels: map[string]string{"team": "a"}}}, of: legacy,
		old: "  annotations:\n", new: "  labels: {team: b}\n  annotations:\n    team: c\n", want: []string{"6 tool-metadata metadata.labels.team"}},
	{name: "only with this value", of: legacy, old: "  annotations:\n", new: "  labels: {app.kubernetes.io/managed-by: Helmut}\n  annotations:\n"},
	{name: "after the signing", of: legacy, old: "  annotations:\n", new: "  annotations:\n    cosign.sigstore.dev/message: x\n    argocd.argoproj.io/tracking-id: x\n",
		want: []string{`7 signature-present metadata.annotations["cosign.sigstore.dev/message"]`}},
}

var directiveCases = []change{
	{name: "one of a list", of: legacy, old: "  annotations:\n", new: "  annotations:\n    argocd.argoproj.io/sync-options: ServerSideApply=true, Prune=false\n",
		want: []string{`7 deployer-directive metadata.annotations["argocd.argoproj.io/sync-options"]`}},
	{name: "a label", of: legacy, old: "  annotations:\n", new: "  labels: {kustomize.toolkit.fluxcd.io/prune: disabled}\n  annotations:\n",
		want: []string{`6 deployer-directive metadata.labels["kustomize.toolkit.fluxcd.io/prune"]`}},
	{name: "not also metadata of its tool", of: legacy, old: "  annotations:\n", new: "  annotations:\n    helm.sh/hook: pre-install\n",
		want: []string{`7 deployer-directive metadata.annotations["helm.sh/hook"]`}},
}

// TestMetadataRows: test/cli/testdata/metadata.txtar has each row of the lists, and so the real command runs on it.
func TestMetadataRows(t *testing.T) {
	raw := expect.Value(os.ReadFile("../../test/cli/testdata/metadata.txtar"))(t)
	_, tools, _ := strings.Cut(string(raw), "\n-- tools --")
	tools, told, _ := strings.Cut(tools, "\n-- directives --")
	told, _, _ = strings.Cut(told, "\n-- people --")
	ours, directives := shape.MetadataRows()
	for _, row := range ours {
		if !strings.Contains(tools, " "+row) {
			t.Errorf("no row has %s", row)
		}
	}
	for _, row := range directives {
		if !strings.Contains(told, " "+row) {
			t.Errorf("no row has %s", row)
		}
	}
}
