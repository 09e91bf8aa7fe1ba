package review_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/review"
)

// The owners of a file before the change.
func TestCodeOwners(t *testing.T) {
	memberships := "/orgs/acme/teams/security/memberships/"
	for name, tc := range map[string]struct {
		owners string // CODEOWNERS before the change
		change func(g *gitHub, c *review.Config, h *history)
		want   string
	}{
		"a person":              {owners: "* @bob", want: "bob"},
		"a person in capitals":  {owners: "* @BOB", want: "bob"},
		"one of two":            {owners: "* @carol @bob", want: "bob"},
		"another person":        {owners: "* @carol", want: review.ReasonNoCodeOwnerApproval},
		"the last rule":         {owners: "unsigned/ @bob\n*.yaml @carol", want: review.ReasonNoCodeOwnerApproval},
		"the last rule for it":  {owners: "*.yaml @carol\nunsigned/ @bob\n*.md @carol", want: "bob"},
		"taken out of the rule": {owners: "* @bob\n/unsigned/", want: review.ReasonNoCodeOwnerApproval},
		"nobody":                {owners: "/signed/ @bob", want: review.ReasonNoCodeOwnerApproval},
		"no rules":              {owners: "", want: review.ReasonNoCodeOwnerApproval},
		"an address":            {owners: "* bob@example.com", want: review.ReasonNoCodeOwnerApproval},
		"a line that is none":   {owners: "* @bob\n[ab].md @bob", want: "unknown: line 2"},
		"an owner that is none": {owners: "* bob", want: "unknown: line 1"},
		"who asked for it": {owners: "* @alice", change: func(g *gitHub, _ *review.Config, _ *history) {
			g.allow(alice, "write")
			g.reviews(given(1, alice, "APPROVED"), given(2, bob, "APPROVED"))
		}, want: review.ReasonNoCodeOwnerApproval},
		"an owner whose approval is stale": {owners: "* @carol", change: func(g *gitHub, _ *review.Config, _ *history) {
			g.reviews(given(1, bob, "APPROVED"), with(given(2, carol, "APPROVED"), "commit_id", baseCommit))
		}, want: review.ReasonNoCodeOwnerApproval},
		"without a number of approvals": {owners: "* @bob", change: func(_ *gitHub, c *review.Config, _ *history) { c.RequireApprovals = 0 }, want: "bob"},
		"nobody approved, without a number": {owners: "* @acme/security", change: func(g *gitHub, c *review.Config, _ *history) {
			g.reviews()
			c.RequireApprovals = 0
		}, want: review.ReasonNoCodeOwnerApproval},
		"a member of the team": {owners: "* @acme/security", change: func(g *gitHub, _ *review.Config, _ *history) {
			g.answers[memberships+"bob"] = object{"state": "active", "role": "member"}
		}, want: "bob"},
		"one of two is a member": {owners: "* @acme/security", change: func(g *gitHub, _ *review.Config, _ *history) {
			g.reviews(given(1, bob, "APPROVED"), given(2, carol, "APPROVED"))
			g.answers[memberships+"carol"] = object{"state": "active", "role": "maintainer"}
		}, want: "bob carol"},
		"invited to the team": {owners: "* @acme/security", change: func(g *gitHub, _ *review.Config, _ *history) {
			g.answers[memberships+"bob"] = object{"state": "pending", "role": "member"}
		}, want: review.ReasonNoCodeOwnerApproval},
		"a team that is not known":               {owners: "* @acme/security", want: "unknown: bob is a member of @acme/security"},
		"a team that is not known, and an owner": {owners: "* @acme/security @bob", want: "bob"},
		"a team that is none":                    {owners: "* @-acme/security", want: "unknown: is not a team"},
		"a team that may not be known": {owners: "* @acme/security", change: func(g *gitHub, _ *review.Config, _ *history) {
			g.meddle = forbid(memberships)
		}, want: "unknown: returned 403"},
		"one may not be known, and one is a member": {owners: "* @acme/security", change: func(g *gitHub, _ *review.Config, _ *history) {
			g.reviews(given(1, bob, "APPROVED"), given(2, carol, "APPROVED"))
			g.answers[memberships+"carol"] = object{"state": "active", "role": "member"}
			g.meddle = forbid(memberships + "bob")
		}, want: "bob carol"},
		"more memberships than are looked up": {owners: "* @acme/a @acme/b @acme/c @acme/d @acme/e @acme/f", change: func(g *gitHub, _ *review.Config, _ *history) {
			var all []any
			for i := range 100 {
				who := account(100+i, fmt.Sprintf("member-%d", i), "User")
				g.allow(who, "write")
				all = append(all, given(i, who, "APPROVED"))
			}
			g.reviews(all...)
		}, want: "unknown: more than 500 memberships"},
		"a team when the server stumbles": {owners: "* @acme/security", change: func(g *gitHub, _ *review.Config, _ *history) {
			g.meddle = stumble(memberships, 99)
		}, want: "unknown: returned 502"},
		"loosened by the change itself": {owners: "* @carol", change: func(_ *gitHub, _ *review.Config, h *history) {
			h.files[mergeCommit+":.github/CODEOWNERS"] = "* @bob"
		}, want: review.ReasonNoCodeOwnerApproval},
		"brought by the change itself": {change: func(_ *gitHub, _ *review.Config, h *history) {
			delete(h.files, baseCommit+":.github/CODEOWNERS")
			h.files[mergeCommit+":.github/CODEOWNERS"] = "* @bob"
		}, want: review.ReasonNoCodeOwnerApproval},
		"in .github before the root": {owners: "* @carol", change: func(_ *gitHub, _ *review.Config, h *history) {
			h.files[baseCommit+":CODEOWNERS"] = "* @bob"
			h.files[baseCommit+":docs/CODEOWNERS"] = "* @bob"
		}, want: review.ReasonNoCodeOwnerApproval},
		"in the root before docs": {change: func(_ *gitHub, _ *review.Config, h *history) {
			delete(h.files, baseCommit+":.github/CODEOWNERS")
			h.files[baseCommit+":CODEOWNERS"] = "* @carol"
			h.files[baseCommit+":docs/CODEOWNERS"] = "* @bob"
		}, want: review.ReasonNoCodeOwnerApproval},
		"in docs": {change: func(_ *gitHub, _ *review.Config, h *history) {
			delete(h.files, baseCommit+":.github/CODEOWNERS")
			h.files[baseCommit+":docs/CODEOWNERS"] = "* @bob"
		}, want: "bob"},
		"the first commit of all": {owners: "* @bob", change: func(g *gitHub, _ *review.Config, h *history) {
			h.commits[mergeCommit] = review.Commit{}
			h.files[mergeCommit+":.github/CODEOWNERS"] = "* @bob"
		}, want: review.ReasonNoCodeOwnerApproval},
		"a clone without the history": {owners: "* @bob", change: func(_ *gitHub, _ *review.Config, h *history) { delete(h.commits, mergeCommit) }, want: "unknown: object not found"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGitHub(t)
			c := g.config()
			c.RequireCodeOwners = true
			h := c.History.(*history)
			h.files[baseCommit+":.github/CODEOWNERS"] = tc.owners
			if tc.change != nil {
				tc.change(g, &c, h)
			}
			expect(t, outcome(t, g, c), tc.want)
		})
	}
}

// A rebased pull request of two commits, and the first one loosens the rules. The parent of the
// merged commit is part of the pull request.
func TestCodeOwnersLoosenedInARebase(t *testing.T) {
	first := strings.Repeat("f", 40)
	for name, tc := range map[string]struct {
		before, after, want string
	}{
		"loosened":    {"* @carol", "* @bob", review.ReasonNoCodeOwnerApproval},
		"tightened":   {"* @bob", "* @carol", review.ReasonNoCodeOwnerApproval},
		"left alone":  {"* @bob", "* @bob", "bob"},
		"left to one": {"* @bob @carol", "* @bob", "bob"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGitHub(t)
			c := g.config()
			c.RequireCodeOwners = true
			h := c.History.(*history)
			h.commits[mergeCommit] = review.Commit{Parents: []string{first}}
			h.commits[first] = review.Commit{Parents: []string{baseCommit}}
			h.files[first+":.github/CODEOWNERS"] = tc.after
			h.files[baseCommit+":.github/CODEOWNERS"] = tc.before
			g.set(api+"/pulls/12", 2, "commits")
			expect(t, outcome(t, g, c), tc.want)
		})
	}
}

// Every file needs an owner's approval.
func TestCodeOwnersOfEveryFile(t *testing.T) {
	g := newGitHub(t)
	g.answers[api+"/git/trees/"+unsigned] = tree(entry("mongo.yaml", "blob", blob), entry("nginx.yaml", "blob", blob))
	c := g.config()
	c.RequireCodeOwners = true
	c.History.(*history).files[baseCommit+":.github/CODEOWNERS"] = "* @bob\nnginx.yaml @carol"
	r, err := review.New(c)
	if err != nil {
		t.Fatal(err)
	}
	o := mongo()
	o.Files = append(o.Files, review.File{Path: "unsigned/nginx.yaml", Blob: blob})
	_, err = r.Record(t.Context(), o)
	if err == nil || !strings.HasPrefix(err.Error(), "unsigned/nginx.yaml: none of its code owners [\"@carol\"]") {
		t.Errorf("it is %v", err)
	}
}
