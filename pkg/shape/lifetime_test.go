package shape_test

import (
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

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
