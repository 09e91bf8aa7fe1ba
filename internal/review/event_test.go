package review_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/forge/github"
	"github.com/polex-dev/polex/internal/review"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// An event proves a pull request, but never an approval.
func TestFromEvent(t *testing.T) {
	closed := func() object {
		return object{"action": "closed", "number": 12, "pull_request": with(with(pullRequest(12), "merged", true), "merged_by", bob),
			"repository": object{"full_name": repository}, "sender": bob}
	}
	pull := func(key string, value any) object {
		return with(closed(), "pull_request", with(closed()["pull_request"].(object), key, value))
	}
	known := &review.Record{Source: review.SourceEvent, Commit: mergeCommit, Branch: "main", Number: 12, Requester: "alice", PullRequest: "https://github.com/acme/exceptions/pull/12"}
	bare := &review.Record{Source: review.SourceEvent, Commit: mergeCommit, Branch: "main"}
	for name, tc := range map[string]struct {
		event object
		want  *review.Record
		err   string
	}{
		"a pull request that was merged": {event: closed(), want: known},
		"a push": {event: object{"ref": "refs/heads/main", "after": mergeCommit, "pusher": object{"name": "bob"},
			"head_commit": object{"id": mergeCommit, "message": "Ask for mongo (#12)", "author": object{"username": "mallory"}}}, want: bare},
		"a pull request that was only closed": {event: pull("merged", false), want: bare},
		"another action":                      {event: with(closed(), "action", "labeled"), want: bare},
		"another merge":                       {event: pull("merge_commit_sha", baseCommit), want: bare},
		"into another branch":                 {event: pull("base", object{"ref": "staging", "repo": object{"full_name": repository}}), want: bare},
		"of another repository":               {event: pull("base", object{"ref": "main", "repo": object{"full_name": "mallory/x"}}), want: bare},
		"an address elsewhere":                {event: pull("html_url", "https://mallory.example/acme/exceptions/pull/12"), err: "its address"},
		"a login that is none":                {event: pull("user", account(1, "a b", "User")), err: "is not a login"},
	} {
		t.Run(name, func(t *testing.T) {
			payload := must.Get(json.Marshal(tc.event))(t)
			got, err := recordOf(t, payload, mongo())
			if tc.err != "" {
				expect.Error(t, err, tc.err)
				return
			}
			must.Do(t, err)
			expect.Equal(t, "result", tc.want, got)
		})
	}
}

// recordOf returns the record from the payload of an event.
func recordOf(t *testing.T, payload []byte, o review.Origin) (*review.Record, error) {
	t.Helper()
	environment := map[string]string{"GITHUB_SERVER_URL": "https://github.com/", "GITHUB_REPOSITORY": repository}
	event, err := github.Workflow(func(name string) string { return environment[name] }).Event(payload)
	if err != nil {
		return nil, err
	}
	r := must.Get(review.New(
		review.Config{Source: review.SourceEvent, Event: event, Branch: "main", History: newHistory()}))(t)
	return r.Record(t.Context(), o)
}

// A record requires a commit and files.
func TestNoOrigin(t *testing.T) {
	for _, o := range []review.Origin{{}, {Commit: "HEAD", Files: mongo().Files}, {Commit: strings.ToUpper(mergeCommit), Files: mongo().Files}, {Commit: mergeCommit}} {
		_, err := recordOf(t, []byte("{}"), o)
		expect.That(t, err != nil, "%+v has a record", o)
	}
}

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
			r := must.Get(review.New(c))(t)
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
			expect.That(t, refusal.Reason == reason && strings.Contains(refusal.Message, part) && refusal.Hint != "",
				"it is %+v, want %q", refusal, tc.want)
			expect.Is(t, "position", "unsigned/mongo.yaml:6:5", refusal.Position.String())
		})
	}
}
