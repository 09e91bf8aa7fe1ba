package shape_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
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

const day = 24 * time.Hour

func rules(r policyfile.Rules) shape.Config { return shape.Config{Rules: r} }

var untilTerms = lifetime.Terms{Keys: []string{"until"}}

// grandfathered gives an expiry to the legacy exception without one.
func grandfathered(until string) lifetime.Terms {
	doc, err := exception.Parse([]byte(strings.Replace(legacy, "    polex.dev/expires-in: 7d\n", "", 1)), "")
	if err != nil {
		panic(err)
	}
	end, err := lifetime.ParseDay(until)
	if err != nil {
		panic(err)
	}
	return lifetime.Terms{Grandfathered: map[string]time.Time{lifetime.ContentDigest(doc): end}}
}

var lifetimeCases = []change{
	{name: "none", of: legacy, old: "    polex.dev/expires-in: 7d\n", new: "", want: []string{"6 no-expiry metadata.annotations"}},
	{name: "none, permitted", of: legacy, config: rules(policyfile.Rules{Unbounded: true}), old: "    polex.dev/expires-in: 7d\n", new: ""},
	{name: "an annotation of almost that name", of: legacy, old: "expires-in: 7d", new: "expires: 7d", want: []string{"6 no-expiry metadata.annotations", `8 unknown-annotation metadata.annotations["polex.dev/expires"]`}},
	{name: "no duration", of: legacy, old: "expires-in: 7d", new: "expires-in: soon", want: []string{`8 bad-lifetime metadata.annotations["polex.dev/expires-in"]`}},
	{name: "empty", of: legacy, old: "expires-in: 7d", new: `expires-in: ""`, want: []string{`8 bad-lifetime metadata.annotations["polex.dev/expires-in"]`}},
	{name: "empty, and the unbounded is permitted", of: legacy, config: rules(policyfile.Rules{Unbounded: true}), old: "expires-in: 7d", new: `expires-in: ""`,
		want: []string{`8 bad-lifetime metadata.annotations["polex.dev/expires-in"]`}},
	{name: "an hour of one digit", of: policies, old: "2026-06-08T12:00:00Z", new: "2026-06-08T7:00:00Z", want: []string{"13 bad-lifetime spec.expiresAt"}},
	{name: "the year 1", of: policies, config: rules(policyfile.Rules{Unbounded: true}), old: "2026-06-08T12:00:00Z", new: "0001-01-01T00:00:00Z", want: []string{"13 bad-lifetime spec.expiresAt"}},
	{name: "negative duration", of: legacy, old: "expires-in: 7d", new: "expires-in: -7d", want: []string{`8 bad-lifetime metadata.annotations["polex.dev/expires-in"]`}},
	{name: "no time", of: policies, old: "2026-06-08T12:00:00Z", new: "next week", want: []string{"13 bad-lifetime spec.expiresAt"}},
	{name: "no start", of: legacy, old: "expires-in: 7d", new: "expires-in: 7d\n    polex.dev/starts-at: x", want: []string{`9 bad-lifetime metadata.annotations["polex.dev/starts-at"]`}},
	{name: "a label that counts from when it is created", of: legacy, old: "  annotations:\n", new: "  labels: {cleanup.kyverno.io/ttl: 7d}\n  annotations:\n",
		want: []string{`6 bad-lifetime metadata.labels["cleanup.kyverno.io/ttl"]`}},
	{name: "a label that counts so, and the unbounded is permitted", of: legacy, config: rules(policyfile.Rules{Unbounded: true}),
		old: "    polex.dev/expires-in: 7d\n", new: "  labels: {cleanup.kyverno.io/ttl: 7d}\n",
		want: []string{`8 bad-lifetime metadata.labels["cleanup.kyverno.io/ttl"]`}},
	{name: "a label of another time", of: policies, old: "  namespace: team-a\n", new: "  namespace: team-a\n  labels: {cleanup.kyverno.io/ttl: 2026-06-09T120000Z}\n"},
	{name: "a label of a time that has come", of: policies, old: "  namespace: team-a\n", new: "  namespace: team-a\n  labels: {cleanup.kyverno.io/ttl: \"2026-06-01\"}\n",
		want: []string{`6 expired metadata.labels["cleanup.kyverno.io/ttl"]`}},
	{name: "a label of the same time", of: policies, old: "  namespace: team-a\n", new: "  namespace: team-a\n  labels: {cleanup.kyverno.io/ttl: 2026-06-08T120000Z}\n"},
	{name: "both", of: legacy, old: "expires-in: 7d", new: "expires-in: 7d\n    polex.dev/expires-at: \"2026-06-02T00:00:00Z\"",
		want: []string{`8 bad-lifetime metadata.annotations["polex.dev/expires-in"]`}},
	{name: "two ends", of: policies, old: "  namespace: team-a\n", new: "  namespace: team-a\n  annotations:\n    polex.dev/expires-at: \"2026-06-02T00:00:00Z\"\n",
		want: []string{`7 bad-lifetime metadata.annotations["polex.dev/expires-at"]`}},
	{name: "signed before it is signed", of: legacy, old: "expires-in: 7d", new: "expires-in: 7d\n    polex.dev/signed-at: \"2026-06-01T00:00:00Z\"",
		want: []string{`9 bad-lifetime metadata.annotations["polex.dev/signed-at"]`}},
	{name: "over", of: policies, old: "2026-06-08T12:00:00Z", new: "2026-05-31T00:00:00Z", want: []string{"13 expired spec.expiresAt"}},
	{name: "over this very moment", of: policies, old: "2026-06-08T12:00:00Z", new: "2026-06-01T14:00:00+02:00", want: []string{"13 expired spec.expiresAt"}},
	{name: "over, and the unbounded is permitted", of: policies, config: rules(policyfile.Rules{Unbounded: true}), old: "2026-06-08T12:00:00Z", new: "2026-05-31T00:00:00Z", want: []string{"13 expired spec.expiresAt"}},
	{name: "too long a duration", of: legacy, config: rules(policyfile.Rules{Longest: 6 * day}), want: []string{`8 lifetime-too-long metadata.annotations["polex.dev/expires-in"]`}},
	{name: "just the duration", of: legacy, config: rules(policyfile.Rules{Longest: 7 * day})},
	{name: "too far a time", of: policies, config: rules(policyfile.Rules{Longest: 6 * day}), want: []string{"13 lifetime-too-long spec.expiresAt"}},
	{name: "just the time", of: policies, config: rules(policyfile.Rules{Longest: 7 * day})},
	{name: "no limit unless one is set", of: legacy, old: "expires-in: 7d", new: "expires-in: 910d"},
	{name: "a limit with the unbounded", of: legacy, config: rules(policyfile.Rules{Unbounded: true, Longest: day}), want: []string{`8 lifetime-too-long metadata.annotations["polex.dev/expires-in"]`}},
	{name: "a key of one's own", of: legacy, config: rules(policyfile.Rules{Terms: untilTerms, Longest: 6 * day}), old: "polex.dev/expires-in: 7d", new: "until: \"2026-06-07\""},
	{name: "a key of one's own, too far", of: legacy, config: rules(policyfile.Rules{Terms: untilTerms, Longest: 5 * day}), old: "polex.dev/expires-in: 7d", new: "until: \"2026-06-07\"",
		want: []string{"8 lifetime-too-long metadata.annotations.until"}},
	{name: "a key of one's own whose time has come", of: policies, config: rules(policyfile.Rules{Terms: untilTerms}), old: "  namespace: team-a\n", new: "  namespace: team-a\n  labels: {until: \"2026-06-01\"}\n",
		want: []string{"6 expired metadata.labels.until"}},
	{name: "a key of one's own beside a duration", of: legacy, config: rules(policyfile.Rules{Terms: untilTerms}), old: "expires-in: 7d", new: "expires-in: 7d\n    until: \"2026-06-07\"",
		want: []string{`8 bad-lifetime metadata.annotations["polex.dev/expires-in"]`}},
	{name: "a key that is not one's own", of: legacy, old: "polex.dev/expires-in: 7d", new: "until: \"2026-06-07\"", want: []string{"6 no-expiry metadata.annotations"}},
	{name: "grandfathered", of: legacy, config: rules(policyfile.Rules{Terms: grandfathered("2026-06-07"), Longest: 6 * day}), old: "    polex.dev/expires-in: 7d\n"},
	{name: "grandfathered for too long", of: legacy, config: rules(policyfile.Rules{Terms: grandfathered("2026-06-08"), Longest: 6 * day}), old: "    polex.dev/expires-in: 7d\n",
		want: []string{"1 lifetime-too-long ."}},
	{name: "grandfathered until now", of: legacy, config: rules(policyfile.Rules{Terms: grandfathered("2026-06-01"), Unbounded: true}), old: "    polex.dev/expires-in: 7d\n",
		want: []string{"1 expired ."}},
	{name: "a rule of lifetimes", of: legacy, config: rules(policyfile.Rules{Longest: 30 * day, Lifetimes: []policyfile.Lifetime{{Documents: policyfile.Limits{Policies: []string{"require-*"}}, Max: day}}}), want: tooLong},
	{name: "a start after the end", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/starts-at: \"2027-06-01T00:00:00Z\"\n", want: []string{`7 bad-lifetime metadata.annotations["polex.dev/starts-at"]`}},
	{name: "a rule of lifetimes, for the other group", of: policies, config: rules(policyfile.Rules{Lifetimes: []policyfile.Lifetime{{Documents: policyfile.Limits{Exempted: []string{"team-*"}}, Max: day}}}),
		want: []string{"13 lifetime-too-long spec.expiresAt"}},
	{name: "a rule of lifetimes, for the other group, elsewhere", of: policies, config: rules(policyfile.Rules{Lifetimes: []policyfile.Lifetime{{Documents: policyfile.Limits{Exempted: []string{"prod-*"}}, Max: day}}})},
	{name: "a rule of lifetimes for others", of: legacy, config: rules(policyfile.Rules{Longest: 30 * day, Lifetimes: []policyfile.Lifetime{{Documents: policyfile.Limits{Policies: []string{"other"}}, Max: day}}})},
	{name: "no end where a rule of lifetimes requires one", of: legacy, config: rules(policyfile.Rules{Unbounded: true, Lifetimes: []policyfile.Lifetime{{Documents: policyfile.Limits{Policies: []string{"require-*"}}, Max: day}}}),
		old: "    polex.dev/expires-in: 7d\n", new: "", want: []string{"6 no-expiry metadata.annotations"}},
}

var tooLong = []string{`8 lifetime-too-long metadata.annotations["polex.dev/expires-in"]`}
