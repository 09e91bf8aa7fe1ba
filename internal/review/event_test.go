package review_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/forge/github"
	"github.com/polex-dev/polex/internal/review"
	"github.com/polex-dev/polex/test/expect"
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
			payload := expect.Value(json.Marshal(tc.event))(t)
			got, err := recordOf(t, payload, mongo())
			if tc.err != "" {
				expect.Error(t, err, tc.err)
				return
			}
			expect.OK(t, err)
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
	r := expect.Value(review.New(
		review.Config{Source: review.SourceEvent, Event: event, Branch: "main", History: newHistory()}))(t)
	return r.Record(t.Context(), o)
}

// A record requires a commit and files.
func TestNoOrigin(t *testing.T) {
	for _, o := range []review.Origin{{}, {Commit: "HEAD", Files: mongo().Files}, {Commit: strings.ToUpper(mergeCommit), Files: mongo().Files}, {Commit: mergeCommit}} {
		if _, err := recordOf(t, []byte("{}"), o); err == nil {
			t.Errorf("%+v has a record", o)
		}
	}
}
