package review_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/review"
	"github.com/polex-dev/polex/test/expect"
)

// The pull request that added a commit.
func TestPullRequest(t *testing.T) {
	at := api + "/commits/" + mergeCommit + "/pulls"
	other := strings.Repeat("d", 40)
	for name, tc := range map[string]struct {
		change change
		want   string
	}{
		"none":                       {setting(at, []any{}), review.ReasonNoPullRequest},
		"none, and nothing is asked": {func(g *gitHub, c *review.Config) { g.answers[at] = []any{}; c.RequireApprovals = 0 }, "no pull request"},
		"not merged":                 {setting(at, nil, 0, "merged_at"), review.ReasonNoPullRequest},
		"into another branch":        {setting(at, "staging", 0, "base", "ref"), review.ReasonNoPullRequest},
		"of another repository":      {setting(at, "mallory/exceptions", 0, "base", "repo", "full_name"), review.ReasonNoPullRequest},
		"whose repository is gone":   {setting(at, nil, 0, "base", "repo"), review.ReasonNoPullRequest},
		"from a fork":                {setting(at, "alice/exceptions", 0, "head", "repo", "full_name"), "bob"},
		"from a fork that is gone":   {setting(at, nil, 0, "head", "repo"), "bob"},
		"merged as another commit": {func(g *gitHub, c *review.Config) {
			g.set(at, other, 0, "merge_commit_sha")
			c.History.(*history).commits[other] = review.Commit{Parents: []string{baseCommit, headCommit}}
		}, review.ReasonNoPullRequest},
		"merged as a commit that the clone lacks": {setting(at, other, 0, "merge_commit_sha"), "unknown: object not found"},
		"merged as no commit":                     {setting(at, "../x", 0, "merge_commit_sha"), "unknown: it was merged as"},
		"two":                                     {setting(at, []any{pullRequest(12), pullRequest(13)}), "unknown: 2 pull requests"},
		"more than are looked at": {func(g *gitHub, _ *review.Config) {
			var all []any
			for i := range 21 {
				all = append(all, pullRequest(12+i))
			}
			g.answers[at] = all
		}, "unknown: more than 20"},
		"two, one of another branch": {setting(at, []any{with(pullRequest(13), "base", object{"ref": "staging", "repo": object{"full_name": repository}}), pullRequest(12)}), "bob"},
		"no number": {func(g *gitHub, _ *review.Config) {
			g.set(at, 0, 0, "number")
			g.set(at, "https://github.com/acme/exceptions/pull/0", 0, "html_url")
		}, "unknown: has the number 0"},
		"an address elsewhere":          {setting(at, "https://mallory.example/acme/exceptions/pull/12", 0, "html_url"), "unknown: its address"},
		"an address of another":         {setting(at, "https://github.com/acme/exceptions/pull/13", 0, "html_url"), "unknown: its address"},
		"an address with a line in it":  {setting(at, "https://github.com/acme/exceptions/pull/12\nx", 0, "html_url"), "unknown: its address"},
		"a login that is none":          {setting(at, account(1, "alice, bob", "User"), 0, "user"), "unknown: is not a login"},
		"nobody who asked":              {setting(at, nil, 0, "user"), "unknown: does not state its author"},
		"a last commit that is none":    {setting(at, "HEAD", 0, "head", "sha"), "unknown: its last commit"},
		"a bot that asked":              {setting(at, robot, 0, "user"), "bob"},
		"the server does not know it":   {func(g *gitHub, _ *review.Config) { delete(g.answers, at) }, "unknown: returned 404"},
		"the repository in other cases": {setting(at, "ACME/Exceptions", 0, "base", "repo", "full_name"), "bob"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGitHub(t)
			c := g.config()
			tc.change(g, &c)
			wanted(t, outcome(t, g, c), tc.want)
		})
	}
}

// A rebase merge puts every commit of a pull request on the branch. The last one is the merge
// commit of the API.
func TestRebased(t *testing.T) {
	last := strings.Repeat("e", 40)
	for name, tc := range map[string]struct {
		commits int
		between int // commits between the one that added the file and the last
		want    string
	}{
		"the one before the last of two":  {2, 0, "bob"},
		"the first of three":              {3, 1, "bob"},
		"the one before the only one":     {1, 0, review.ReasonNoPullRequest},
		"the one before the first of two": {2, 1, review.ReasonNoPullRequest},
		"of more commits than are read":   {1001, 0, "unknown: 1 to 1000"},
		"of no commits, says the server":  {0, 0, "unknown: 1 to 1000"},
		"the last of all that there is":   {1000, 0, "bob"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGitHub(t)
			c := g.config()
			h := c.History.(*history)
			h.commits[mergeCommit] = review.Commit{Parents: []string{baseCommit}}
			above := mergeCommit
			for i := range tc.between {
				commit := strings.Repeat(string(rune('0'+i)), 40)
				h.commits[commit] = review.Commit{Parents: []string{above}}
				above = commit
			}
			h.commits[last] = review.Commit{Parents: []string{above}}
			g.set(api+"/commits/"+mergeCommit+"/pulls", last, 0, "merge_commit_sha")
			g.set(api+"/pulls/12", tc.commits, "commits")
			wanted(t, outcome(t, g, c), tc.want)
		})
	}
}

// The number of commits must belong to this pull request.
func TestRebasedAnother(t *testing.T) {
	g := newGitHub(t)
	c := g.config()
	last := strings.Repeat("d", 40)
	c.History.(*history).commits[last] = review.Commit{Parents: []string{mergeCommit}}
	g.set(api+"/commits/"+mergeCommit+"/pulls", last, 0, "merge_commit_sha")
	g.set(api+"/pulls/12", 13, "number")
	wanted(t, outcome(t, g, c), "unknown: the answer is about pull request 13")
}

// One look-up is enough for all files of a merge.
func TestOneLookUp(t *testing.T) {
	g := newGitHub(t)
	r := expect.Value(review.New(g.config()))(t)
	o := mongo()
	for range 99 {
		o.Files = append(o.Files, o.Files[0])
	}
	for i, want := range []int{6, 5} { // bob's write access is known by then
		g.asked = nil
		expect.Value(r.Record(t.Context(), o))(t)
		if len(g.asked) != want {
			t.Errorf("merge %d: %d requests: %q", i, len(g.asked), g.asked)
		}
	}
}
