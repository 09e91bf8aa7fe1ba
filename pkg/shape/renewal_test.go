package shape_test

import (
	"strings"

	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

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
