package shape_test

import (
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
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
