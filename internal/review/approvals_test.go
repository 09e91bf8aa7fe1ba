package review_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/forge/github"
	"github.com/polex-dev/polex/internal/review"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

var errAbsent = fs.ErrNotExist

// mongo is the origin of the pull request.
func mongo() review.Origin {
	return review.Origin{Commit: mergeCommit, Files: []review.File{{Path: "unsigned/mongo.yaml", Blob: blob}}}
}

// outcome returns the result of a look-up as text: the approvers, a reason, or "unknown:" and the error.
func outcome(t *testing.T, g *gitHub, c review.Config) string {
	t.Helper()
	r := must.Get(review.New(c))(t)
	record, err := r.Record(t.Context(), mongo())
	var refusals exception.Refusals
	switch {
	case errors.As(err, &refusals):
		if len(refusals) != 1 || refusals[0].Position.File != "unsigned/mongo.yaml" || refusals[0].Message == "" || refusals[0].Hint == "" {
			t.Errorf("the refusals are %+v", refusals)
		}
		return refusals[0].Reason
	case err != nil:
		return "unknown: " + err.Error()
	case record.Requester == "":
		return "no pull request"
	default:
		return strings.Join(record.Approvers, " ")
	}
}

// wanted compares an outcome. "unknown: x" matches any error that contains x.
func wanted(t *testing.T, got, want string) {
	t.Helper()
	if part, isUnknown := strings.CutPrefix(want, "unknown: "); isUnknown {
		expect.That(t, strings.HasPrefix(got, "unknown: ") && strings.Contains(got, part),
			"it is %q, and should be unknown for %q", got, part)
		return
	}
	expect.Is(t, "it", want, got)
}

func TestRecord(t *testing.T) {
	g := newGitHub(t)
	r := must.Get(review.New(g.config()))(t)
	got := must.Get(r.Record(t.Context(), mongo()))(t)
	want := &review.Record{Source: review.SourceAPI, Commit: mergeCommit, Branch: "main", PullRequest: "https://github.com/acme/exceptions/pull/12", Number: 12,
		Requester: "alice", Approvers: []string{"bob"}}
	expect.Equal(t, "result", want, got)
}

// The rules for approvers. Each case fails if one rule is missing.
func TestApprovals(t *testing.T) {
	older := strings.Repeat("3", 40)
	many := func(n int, of func(i int) object) (all []any) {
		for i := 1; i <= n; i++ {
			all = append(all, of(i))
		}
		return all
	}
	withdrawn := many(31, func(i int) object { return given(i, dave, "COMMENTED") })
	withdrawn[0], withdrawn[30] = given(1, bob, "APPROVED"), given(31, bob, "CHANGES_REQUESTED")
	// two asks for two approvals; by is the only approver, who may write and did not make the last commit.
	two := func(all ...any) change {
		return func(g *gitHub, c *review.Config) { g.reviews(all...); c.RequireApprovals = 2 }
	}
	by := func(who object) change {
		return func(g *gitHub, _ *review.Config) {
			g.answers[api+"/commits/"+headCommit] = commitOf(dave)
			g.allow(who, "write")
			g.reviews(given(1, who, "APPROVED"))
		}
	}
	for name, tc := range map[string]struct {
		change change
		want   string
	}{
		"a person who may write":                {func(*gitHub, *review.Config) {}, "bob"},
		"an administrator":                      {reviewed(given(1, carol, "APPROVED")), "carol"},
		"two, in order":                         {two(given(1, carol, "APPROVED"), given(2, bob, "APPROVED")), "bob carol"},
		"one of two":                            {func(_ *gitHub, c *review.Config) { c.RequireApprovals = 2 }, review.ReasonNotApproved},
		"one person twice":                      {two(given(1, bob, "APPROVED"), given(2, bob, "APPROVED")), review.ReasonNotApproved},
		"nobody":                                {reviewed(), review.ReasonNotApproved},
		"nobody, and nobody asked":              {func(g *gitHub, c *review.Config) { g.reviews(); c.RequireApprovals = 0 }, ""},
		"who asked for it":                      {by(alice), review.ReasonNotApproved},
		"who asked for it, by another spelling": {by(account(9, "ALICE", "User")), review.ReasonNotApproved},
		"who asked for it, under a new name":    {by(account(1, "alicia", "User")), review.ReasonNotApproved},
		"who made the last commit":              {setting(api+"/commits/"+headCommit, commitOf(bob)), review.ReasonNotApproved},
		"who committed the last commit":         {setting(api+"/commits/"+headCommit, bob, "committer"), review.ReasonNotApproved},
		"a bot":                                 {func(g *gitHub, _ *review.Config) { g.allow(robot, "write"); g.reviews(given(1, robot, "APPROVED")) }, review.ReasonNotApproved},
		"an account that is gone":               {reviewed(with(given(1, bob, "APPROVED"), "user", nil)), review.ReasonNotApproved},
		"who may only read":                     {reviewed(given(1, dave, "APPROVED")), review.ReasonNotApproved},
		"whose permission is not known":         {func(g *gitHub, _ *review.Config) { delete(g.answers, api+"/collaborators/bob/permission") }, "unknown: whether bob may write"},
		"whose permission is somebody else's":   {setting(api+"/collaborators/bob/permission", carol, "user"), "unknown: about another user"},
		"a comment":                             {reviewed(given(1, bob, "COMMENTED")), review.ReasonNotApproved},
		"a comment after the approval":          {reviewed(given(1, bob, "APPROVED"), given(2, bob, "COMMENTED")), "bob"},
		"changes requested after":               {reviewed(given(1, bob, "APPROVED"), given(2, bob, "CHANGES_REQUESTED")), review.ReasonNotApproved},
		"changes requested before":              {reviewed(given(1, bob, "CHANGES_REQUESTED"), given(2, bob, "APPROVED")), "bob"},
		"changes requested after, told first":   {reviewed(given(2, bob, "CHANGES_REQUESTED"), given(1, bob, "APPROVED")), review.ReasonNotApproved},
		"dismissed":                             {reviewed(given(1, bob, "DISMISSED")), review.ReasonNotApproved},
		"dismissed after another":               {reviewed(given(1, bob, "APPROVED"), given(2, bob, "DISMISSED")), review.ReasonNotApproved},
		"pending":                               {reviewed(given(1, bob, "PENDING")), review.ReasonNotApproved},
		"without a time":                        {reviewed(with(given(1, bob, "APPROVED"), "submitted_at", "")), "unknown: has no time"},
		"stale":                                 {reviewed(with(given(1, bob, "APPROVED"), "commit_id", older)), review.ReasonNotApproved},
		"stale, and allowed": {func(g *gitHub, c *review.Config) {
			g.reviews(with(given(1, bob, "APPROVED"), "commit_id", older))
			c.InsecureAllowStaleApprovals = true
		}, "bob"},
		"stale, of a commit that is gone":          {reviewed(with(given(1, bob, "APPROVED"), "commit_id", nil)), review.ReasonNotApproved},
		"what takes it back is on the second page": {reviewed(withdrawn...), review.ReasonNotApproved},
		"what takes it back is on the second of short pages": {func(g *gitHub, _ *review.Config) {
			g.perPage = 2
			g.reviews(given(1, bob, "APPROVED"), given(2, dave, "COMMENTED"), given(3, bob, "CHANGES_REQUESTED"))
		}, review.ReasonNotApproved},
		"what takes it back is on a page that nothing leads to": {func(g *gitHub, _ *review.Config) {
			g.noLinks = true
			g.reviews(withdrawn...)
		}, review.ReasonNotApproved},
		"more pages than are read": {func(g *gitHub, _ *review.Config) {
			g.perPage = 1
			g.reviews(many(31, func(i int) object { return given(i, bob, "APPROVED") })...)
		}, "unknown: more than 30 pages"},
		"more people than are looked up": {reviewed(many(101, func(i int) object {
			return given(i, account(100+i, "u", "User"), "APPROVED")
		})...), "unknown: more than 100 people"},
		"a login that is none":           {reviewed(given(1, account(7, "bob/../../x", "User"), "APPROVED")), "unknown: is not a login"},
		"another content was approved":   {setting(api+"/git/trees/"+unsigned, strings.Repeat("6", 40), "tree", 1, "sha"), review.ReasonNotApproved},
		"it was a link when approved":    {setting(api+"/git/trees/"+unsigned, "120000", "tree", 1, "mode"), review.ReasonNotApproved},
		"it was not there when approved": {setting(api+"/git/trees/"+unsigned, tree(entry("copy.yaml", "blob", blob))), review.ReasonNotApproved},
		"its folder was not there":       {setting(api+"/git/trees/"+headTree, tree()), review.ReasonNotApproved},
		"its folder was a file":          {setting(api+"/git/trees/"+headTree, "blob", "tree", 0, "type"), review.ReasonNotApproved},
		"its folder has no hash":         {setting(api+"/git/trees/"+headTree, "../x", "tree", 0, "sha"), "unknown: is not a hash"},
		"its folder cannot be read":      {func(g *gitHub, _ *review.Config) { delete(g.answers, api+"/git/trees/"+unsigned) }, "unknown: folder"},
		"its folder is not told whole":   {setting(api+"/git/trees/"+unsigned, true, "truncated"), "unknown: is incomplete"},
		"another content, nobody asked": {func(g *gitHub, c *review.Config) {
			g.answers[api+"/git/trees/"+unsigned] = tree()
			c.RequireApprovals = 0
		}, ""},
		"the approved commit is another":  {setting(api+"/commits/"+headCommit, older, "sha"), "unknown: the answer is about commit"},
		"the approved commit has no tree": {setting(api+"/commits/"+headCommit, "x/y", "commit", "tree", "sha"), "unknown: the answer is about commit"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGitHub(t)
			c := g.config()
			tc.change(g, &c)
			wanted(t, outcome(t, g, c), tc.want)
		})
	}
}

// A file in a very deep folder does not cause many requests.
func TestDeepFile(t *testing.T) {
	g := newGitHub(t)
	g.meddle = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, api+"/git/trees/") {
			return false
		}
		reply(w, http.StatusOK, tree(entry("a", "tree", headTree)))
		return true
	}
	r := must.Get(review.New(g.config()))(t)
	o := mongo()
	o.Files[0].Path = strings.Repeat("a/", 250) + "mongo.yaml"
	_, err := r.Record(t.Context(), o)
	expect.Error(t, err, "more than 200 folders")
	expect.Is(t, "refusals", 1, len(exception.RefusalsIn(err)))
	expect.That(t, len(g.asked) <= 210, "it asked %d times", len(g.asked))
}

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
