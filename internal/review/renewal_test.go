package review_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/review"
	"github.com/polex-dev/polex/test/expect"
)

const renewal = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: mongo-r1
  annotations:
    polex.dev/renews: mongo@sha256:0
`

// before is a predecessor with a record from a source with approvers.
func before(t *testing.T, from, approvers string) review.Predecessor {
	return review.Predecessor{Signed: parse(t, "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: mongo, annotations: {polex.dev/recorded-from: '"+from+"', polex.dev/approved-by: '"+approvers+"'}}")}
}

// The requirements for a renewal. Each case fails if one rule is missing.
func TestRenewal(t *testing.T) {
	another := review.Renewals{RequireNewApprover: true}
	two := review.Renewals{RequireApprovals: 2}
	for name, tc := range map[string]struct {
		asked     review.Renewals
		approvers string // of the renewal
		before    review.Predecessor
		want      string // "", or a reason and a part of the message
	}{
		"nothing is asked":               {review.Renewals{}, "", review.Predecessor{}, ""},
		"as many as are asked for":       {two, "bob, carol", review.Predecessor{}, ""},
		"one of two":                     {two, "bob", review.Predecessor{}, "not-approved: 1 of 2"},
		"another approver":               {another, "carol", before(t, "api", "bob"), ""},
		"another approver among others":  {another, "bob, carol", before(t, "api", "bob"), ""},
		"the same approver":              {another, "bob", before(t, "api", "bob"), "no-new-approver: (bob) approved its predecessor, too"},
		"the same, spelled otherwise":    {another, "Bob", before(t, "api", "bOb"), "no-new-approver: approved its predecessor"},
		"some of the same":               {another, "bob", before(t, "api", "bob, carol"), "no-new-approver: approved its predecessor"},
		"nobody":                         {another, "", before(t, "api", "bob"), "no-new-approver: nobody approved it"},
		"after one that nobody approved": {another, "bob", before(t, "api", ""), ""},
		"after one without a record":     {another, "carol", before(t, "", "bob"), "approvers-unknown: without a record"},
		"after one of another source":    {another, "carol", before(t, "trailers", "Bob <bob@example.com>"), `approvers-unknown: from "trailers"`},
		"after one of an event":          {another, "carol", before(t, "event", ""), `approvers-unknown: from "event"`},
		"after one that nobody verified": {another, "carol", review.Predecessor{Unknown: "it does not verify"}, "approvers-unknown: it does not verify"},
		"after nothing":                  {another, "carol", review.Predecessor{}, "approvers-unknown: nobody has verified it"},
		"both, and one of them":          {review.Renewals{RequireApprovals: 2, RequireNewApprover: true}, "carol", before(t, "api", "bob"), "not-approved: 1 of 2"},
		"both, and the other":            {review.Renewals{RequireApprovals: 2, RequireNewApprover: true}, "bob, dave", before(t, "api", "bob, dave"), "no-new-approver: too"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newGitHub(t).config()
			c.Renewals = tc.asked
			r := expect.Value(review.New(c))(t)
			record := &review.Record{Source: review.SourceAPI}
			if tc.approvers != "" {
				record.Approvers = strings.Split(tc.approvers, ", ")
			}
			refusal := r.Renewal(parse(t, renewal), record, tc.before)
			if refusal == nil {
				expect.Is(t, "it passes", tc.want, "")
				return
			}
			reason, part, _ := strings.Cut(tc.want, ": ")
			if refusal.Reason != reason || !strings.Contains(refusal.Message, part) || refusal.Hint == "" {
				t.Errorf("it is %+v, want %q", refusal, tc.want)
			}
			expect.Is(t, "position", "unsigned/mongo.yaml:6:5", refusal.Position.String())
		})
	}
}
