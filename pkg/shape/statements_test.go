package shape_test

import (
	"os"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

const legacyReason = "    polex.dev/reason: the vendor's image has no health endpoint\n"

var ownKeys = exception.StatementKeys{"reason": {"acme.example/why"}, "ticket": {"jira"}, "owner": {"acme.example/team"}}

var statementCases = []change{
	{name: "no reason", of: legacy, config: shape.Config{Require: []string{"reason"}}, old: legacyReason, new: "", want: []string{"6 missing-reason metadata.annotations"}},
	{name: "blank reason", of: legacy, config: shape.Config{Require: []string{"reason"}}, old: legacyReason, new: "    polex.dev/reason: \" \"\n", want: []string{"6 missing-reason metadata.annotations"}},
	{name: "no reason, not required", of: legacy, old: legacyReason, new: ""},
	{name: "everything required", of: legacy, config: shape.Config{Require: []string{"reason", "ticket", "owner"}},
		want: []string{"6 missing-owner metadata.annotations", "6 missing-ticket metadata.annotations"}},
	{name: "everything said", of: legacy, config: shape.Config{Require: []string{"reason", "ticket", "owner"}}, old: legacyReason, new: legacyReason + "    polex.dev/ticket: T-1\n    polex.dev/owner: a\n"},
	{name: "everything said under keys of one's own", of: legacy, config: shape.Config{Require: []string{"reason", "ticket", "owner"}, Statements: ownKeys},
		old: legacyReason, new: "    acme.example/why: slow\n    jira: T-1\n    acme.example/team: team-a\n"},
	{name: "a key of one's own that polex's own key overrules", of: legacy, config: shape.Config{Require: []string{"reason"}, Statements: ownKeys},
		old: legacyReason, new: "    acme.example/why: slow\n    polex.dev/reason: \" \"\n", want: []string{"6 missing-reason metadata.annotations"}},
	{name: "a key of one's own that the configuration does not list", of: legacy, config: shape.Config{Require: []string{"reason"}},
		old: legacyReason, new: "    acme.example/why: slow\n", want: []string{"6 missing-reason metadata.annotations"}},
	{name: "no category", of: legacy, config: shape.Config{Require: []string{"category"}}, want: []string{"6 missing-category metadata.annotations"}},
	{name: "a category", of: legacy, config: shape.Config{Require: []string{"category"}}, old: legacyReason, new: legacyReason + "    polex.dev/category: mitigated\n"},
	{name: "another category", of: legacy, old: legacyReason, new: legacyReason + "    polex.dev/category: harmless\n", want: []string{`8 bad-category metadata.annotations["polex.dev/category"]`}},
	{name: "a ticket as property", of: policies, config: shape.Config{Require: []string{"ticket"}}, old: "{reason:", new: "{ticket: T-1, reason:"},
	{name: "two tickets", of: policies, old: "  namespace: team-a\n", new: "  namespace: team-a\n  annotations: {polex.dev/reason: another}\n",
		want: []string{`6 contradiction metadata.annotations["polex.dev/reason"]`}},
}

// renewing adds the annotations of a renewal.
func renewing(lines string) string { return legacyReason + lines }

var predecessor = "    polex.dev/renews: web@sha256:" + strings.Repeat("0", 64) + "\n"

var renewalCases = []change{
	{name: "a renewal", of: legacy, old: legacyReason, new: renewing(predecessor + "    polex.dev/renewal: \"2\"\n")},
	{name: "as many renewals as allowed", of: legacy, config: rules(policyfile.Rules{Renewals: policyfile.Renewals{Max: 2}}), old: legacyReason, new: renewing(predecessor + "    polex.dev/renewal: \"2\"\n")},
	{name: "one too many", of: legacy, config: rules(policyfile.Rules{Renewals: policyfile.Renewals{Max: 1}}), old: legacyReason, new: renewing(predecessor + "    polex.dev/renewal: \"2\"\n"), want: []string{`9 too-many-renewals metadata.annotations["polex.dev/renewal"]`}},
	{name: "a renewal without a number", of: legacy, old: legacyReason, new: renewing(predecessor), want: []string{`8 bad-renewal metadata.annotations["polex.dev/renews"]`}},
	{name: "a number without a predecessor", of: legacy, old: legacyReason, new: renewing("    polex.dev/renewal: \"1\"\n"), want: []string{`8 bad-renewal metadata.annotations["polex.dev/renewal"]`}},
	{name: "a predecessor without a digest", of: legacy, old: legacyReason, new: renewing("    polex.dev/renews: web\n    polex.dev/renewal: \"1\"\n"), want: []string{`8 bad-renewal metadata.annotations["polex.dev/renews"]`}},
	{name: "renewal nought", of: legacy, old: legacyReason, new: renewing(predecessor + "    polex.dev/renewal: \"0\"\n"), want: []string{`8 bad-renewal metadata.annotations["polex.dev/renews"]`}},
	{name: "a renewal without an end, and their lifetime has a maximum", of: legacy,
		config: rules(policyfile.Rules{Unbounded: true, Renewals: policyfile.Renewals{MaxLifetime: day}}),
		old:    "    polex.dev/expires-in: 7d\n", new: predecessor + "    polex.dev/renewal: \"1\"\n", want: []string{"6 no-expiry metadata.annotations"}},
	{name: "a renewal that is to be shorter", of: legacy, config: rules(policyfile.Rules{Longest: 30 * day, Renewals: policyfile.Renewals{MaxLifetime: day}}), old: legacyReason, new: renewing(predecessor + "    polex.dev/renewal: \"1\"\n"),
		want: []string{`10 lifetime-too-long metadata.annotations["polex.dev/expires-in"]`}},
	{name: "no renewal, which may be longer", of: legacy, config: rules(policyfile.Rules{Longest: 30 * day, Renewals: policyfile.Renewals{MaxLifetime: day, Require: []string{"category"}}})},
	{name: "a renewal that has to say more", of: legacy, config: rules(policyfile.Rules{Renewals: policyfile.Renewals{Require: []string{"reason", "category"}}}), old: legacyReason, new: renewing(predecessor + "    polex.dev/renewal: \"1\"\n"),
		want: []string{"6 missing-category metadata.annotations"}},
}

var sealedCases = []change{
	{name: "a seal", of: legacy, old: "  annotations:\n", new: "  annotations:\n    cosign.sigstore.dev/signature: x\n    cosign.sigstore.dev/message: x\n",
		want: []string{`8 signature-present metadata.annotations["cosign.sigstore.dev/message"]`}},
	{name: "what only begins like one", of: legacy, old: "  annotations:\n", new: "  annotations:\n    cosign.sigstore.dev/note: x\n",
		want: []string{`7 signature-present metadata.annotations["cosign.sigstore.dev/note"]`}},
	{name: "another prefix", of: legacy, old: "  annotations:\n", new: "  annotations:\n    sigstore.dev/signature: x\n"},
	{name: "with both lifetimes, as signing leaves it", of: legacy, old: "  annotations:\n",
		new:  "  annotations:\n    cosign.sigstore.dev/message: x\n    polex.dev/expires-at: \"2026-06-08T12:00:00Z\"\n",
		want: []string{`7 signature-present metadata.annotations["cosign.sigstore.dev/message"]`}},
}

var claimsCases = []change{
	{name: "who approved it", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/approved-by: bob\n",
		want: []string{`7 claims-review metadata.annotations["polex.dev/approved-by"] (warning)`}},
	{name: "nobody who approved it", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/approved-by: \"\"\n",
		want: []string{`7 claims-review metadata.annotations["polex.dev/approved-by"] (warning)`}},
	{name: "everything", of: legacy, old: "  annotations:\n",
		new: "  annotations:\n    polex.dev/requested-by: alice\n    polex.dev/pull-request: \"12\"\n    polex.dev/merge-commit: abc\n    polex.dev/recorded-from: api\n",
		want: []string{`7 claims-review metadata.annotations["polex.dev/requested-by"] (warning)`, `8 claims-review metadata.annotations["polex.dev/pull-request"] (warning)`,
			`9 claims-review metadata.annotations["polex.dev/merge-commit"] (warning)`, `10 claims-review metadata.annotations["polex.dev/recorded-from"] (warning)`}},
	{name: "where none is recorded", of: legacy, config: shape.Config{Checks: map[string]shape.Level{shape.ReasonClaimsReview: shape.LevelOff}},
		old: "  annotations:\n", new: "  annotations:\n    polex.dev/approved-by: bob\n"},
	{name: "where one is recorded", of: legacy, config: shape.Config{Checks: map[string]shape.Level{shape.ReasonClaimsReview: shape.LevelError}},
		old: "  annotations:\n", new: "  annotations:\n    polex.dev/approved-by: bob\n", want: []string{`7 claims-review metadata.annotations["polex.dev/approved-by"]`}},
	{name: "what is sealed", of: legacy, old: "  annotations:\n", new: "  annotations:\n    cosign.sigstore.dev/message: x\n    polex.dev/approved-by: bob\n",
		want: []string{`7 signature-present metadata.annotations["cosign.sigstore.dev/message"]`}},
}

var unknownAnnotationCases = []change{
	{name: "clusters: names and patterns", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/cluster: \"prod-*, test-1\"\n"},
	{name: "clusters: an ARN", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/cluster: arn:aws:eks:eu-west-1:1:cluster/prod\n"},
	{name: "clusters: spaces between names", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/cluster: prod-eu prod-us\n", want: []string{`7 bad-cluster metadata.annotations["polex.dev/cluster"]`}},
	{name: "clusters: semicolons", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/cluster: prod-eu;prod-us\n", want: []string{`7 bad-cluster metadata.annotations["polex.dev/cluster"]`}},
	{name: "clusters: a regular expression", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/cluster: prod-.*\n", want: []string{`7 bad-cluster metadata.annotations["polex.dev/cluster"]`}},
	{name: "clusters: a negation", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/cluster: \"!prod\"\n", want: []string{`7 bad-cluster metadata.annotations["polex.dev/cluster"]`}},
	{name: "clusters: a variable", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/cluster: \"${CLUSTER}\"\n", want: []string{`7 bad-cluster metadata.annotations["polex.dev/cluster"]`}},
	{name: "clusters: nothing", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/cluster: \"\"\n", want: []string{`7 bad-cluster metadata.annotations["polex.dev/cluster"]`}},
	{name: "clusters: a comma too many", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/cluster: \"prod,\"\n", want: []string{`7 bad-cluster metadata.annotations["polex.dev/cluster"]`}},
	{name: "misspelt limits", of: legacy, old: "  annotations:\n", new: "  labels: {polex.dev/cluster: test}\n  annotations:\n    polex.dev/expire-at: \"2026-06-08T12:00:00Z\"\n    polex.dev/start-at: \"2026-06-02T12:00:00Z\"\n    polex.dev/clusters: test\n",
		want: []string{`6 unknown-annotation metadata.labels["polex.dev/cluster"]`, `8 unknown-annotation metadata.annotations["polex.dev/expire-at"]`,
			`9 unknown-annotation metadata.annotations["polex.dev/start-at"]`, `10 unknown-annotation metadata.annotations["polex.dev/clusters"]`}},
	{name: "a limit among the properties", of: policies, old: "properties: {", new: "properties: {cluster: test, ",
		want: []string{"14 unknown-annotation spec.properties.cluster"}},
	{name: "the label of Kyverno as an annotation", of: legacy, old: "  annotations:\n", new: "  annotations:\n    cleanup.kyverno.io/ttl: 1h\n", want: []string{`7 unknown-annotation metadata.annotations["cleanup.kyverno.io/ttl"]`}},
	{name: "a key of the team", config: shape.Config{Statements: exception.StatementKeys{"owner": []string{"polex.acme.example/owner"}}}, of: legacy,
		old: "  annotations:\n", new: "  annotations:\n    polex.acme.example/owner: a\n"},
}

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
	raw := must.Get(os.ReadFile("../../test/cli/testdata/metadata.txtar"))(t)
	_, tools, _ := strings.Cut(string(raw), "\n-- tools --")
	tools, told, _ := strings.Cut(tools, "\n-- directives --")
	told, _, _ = strings.Cut(told, "\n-- people --")
	ours, directives := shape.MetadataRows()
	for _, row := range ours {
		expect.That(t, strings.Contains(tools, " "+row), "no row has %s", row)
	}
	for _, row := range directives {
		expect.That(t, strings.Contains(told, " "+row), "no row has %s", row)
	}
}
