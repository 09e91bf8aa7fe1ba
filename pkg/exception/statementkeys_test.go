package exception_test

import (
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
)

// TestStatementKeys: a statement under a team's own key counts in every place, but never overrides
// polex's own key.
func TestStatementKeys(t *testing.T) {
	const legacy, policies = "kyverno.io/v2", "policies.kyverno.io/v1"
	keys := exception.StatementKeys{"reason": {"acme.example/why", "why"}, "ticket": {"jira"}, "owner": {"team"}}
	for name, tc := range map[string]struct {
		api, metadata, spec   string
		reason, ticket, owner string
		path                  string // of the reason
	}{
		"annotation":              {api: legacy, metadata: "annotations: {why: a, jira: T-1, team: x}", reason: "a", ticket: "T-1", owner: "x", path: "metadata.annotations.why"},
		"label":                   {api: legacy, metadata: "labels: {why: a, jira: T-1, team: x}", reason: "a", ticket: "T-1", owner: "x", path: "metadata.labels.why"},
		"property":                {api: policies, spec: "properties: {why: a, jira: T-1, team: x}", reason: "a", ticket: "T-1", owner: "x", path: "spec.properties.why"},
		"kyverno.io has none":     {api: legacy, spec: "properties: {why: a}"},
		"annotation before label": {api: legacy, metadata: "annotations: {why: a}, labels: {why: b}", reason: "a", path: "metadata.annotations.why"},
		"first key first":         {api: legacy, metadata: "annotations: {why: a}, labels: {acme.example/why: b}", reason: "b", path: `metadata.labels["acme.example/why"]`},
		"no text, so the next":    {api: legacy, metadata: "annotations: {acme.example/why: '', why: a}", reason: "a", path: "metadata.annotations.why"},
		"polex's annotation":      {api: legacy, metadata: "annotations: {why: a, polex.dev/reason: b}", reason: "b", path: `metadata.annotations["polex.dev/reason"]`},
		"polex's property":        {api: policies, metadata: "annotations: {why: a}", spec: "properties: {reason: b}", reason: "b", path: "spec.properties.reason"},
		"polex's without a text":  {api: legacy, metadata: "annotations: {why: a, polex.dev/reason: ''}", path: `metadata.annotations["polex.dev/reason"]`},
	} {
		d := mustParse(t, "apiVersion: "+tc.api+"\nkind: PolicyException\nmetadata: {name: a, "+tc.metadata+"}\nspec: {"+tc.spec+"}\n")
		e, _ := d.Exception()
		keys.Fill(e, d)
		if e.Reason.Text != tc.reason || e.Ticket.Text != tc.ticket || e.Owner.Text != tc.owner {
			t.Errorf("%s: %q, %q, %q", name, e.Reason.Text, e.Ticket.Text, e.Owner.Text)
		}
		if tc.path != "" && e.Reason.Path.String() != tc.path {
			t.Errorf("%s: the reason is at %s", name, e.Reason.Path)
		}
	}
}
