package promotion_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestTarget: the branch of the remote is fetched. The local branch is used only if it contains the remote one.
func TestTarget(t *testing.T) {
	for _, tc := range []struct {
		name          string
		here, there   bool // has a commit of its own
		branch        string
		local, remote string // the expected branch: "here" or "there", "" for an error
	}{
		{name: "the same", branch: "main", local: "here", remote: "there"},
		{name: "the remote has moved", branch: "main", there: true, local: "there", remote: "there"},
		{name: "not pushed yet", branch: "main", here: true, local: "here", remote: "there"},
		{name: "both", branch: "main", here: true, there: true, local: "there", remote: "there"},
		{name: "a branch that the remote does not have", branch: "work", local: "here"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a")})
			other := r.remote()
			if tc.there {
				other.Git("rm", "--quiet", "-r", "unsigned")
				other.pushed("Withdraw it")
			}
			if tc.here {
				r.Commit("Mine")
			}
			commits := map[string]string{"here": r.Head(), "there": other.Head()}
			clone, err := commit.Open(commit.Options{Dir: r.Dir})
			must.Do(r.TB, err)
			defer clone.Close()
			for _, local := range []bool{true, false} {
				want := tc.remote
				if local {
					want = tc.local
				}
				got, err := promotion.Target(t.Context(), clone, commit.Remote{Name: "origin", Branch: tc.branch}, local)
				expect.That(t, (err != nil) == (want == "") && (err != nil || got.String() == commits[want]),
					"Target, local %v: %s, %v; want %q of %v", local, got, err, want, commits)
			}
		})
	}
}

// TestPlanAfterwards: a removed request is not signed. If it was made again, the approvals of the
// first request do not count.
func TestPlanAfterwards(t *testing.T) {
	for _, tc := range []struct {
		name   string
		others func(*repository)
		want   string // the reason for skipping it
	}{
		{"something else", func(r *repository) { r.Write("README.md", "x"); r.pushed("Other") }, ""},
		{"withdrawn", func(r *repository) { r.Git("rm", "--quiet", "unsigned/a.yaml"); r.pushed("Withdraw it") }, promotion.ReasonGoneSince},
		{"signed and withdrawn", func(r *repository) {
			r.Git("mv", "unsigned/a.yaml", "a.yaml")
			r.pushed("Sign it")
			r.Git("rm", "--quiet", "a.yaml")
			r.pushed("Withdraw it")
		}, promotion.ReasonGoneSince},
		{"withdrawn and asked for again", func(r *repository) {
			r.Git("mv", "unsigned/a.yaml", "a.yaml")
			r.pushed("Withdraw it")
			r.Git("mv", "a.yaml", "unsigned/a.yaml")
			r.pushed("Ask for it again")
		}, promotion.ReasonChangedSince},
		{"the configuration changed", func(r *repository) { r.Write(".polex.yaml", "stricter"); r.pushed("Ask for more") }, promotion.ReasonChangedSince},
		{"the configuration is gone", func(r *repository) { r.Git("rm", "--quiet", ".polex.yaml"); r.pushed("Ask for nothing") }, promotion.ReasonChangedSince},
		{"a policy changed", func(r *repository) { r.Write("policies/a.yaml", "new"); r.pushed("Add a policy") }, promotion.ReasonChangedSince},
		{"changed", func(r *repository) { r.Write("unsigned/a.yaml", exceptionText("b")); r.pushed("Change it") }, promotion.ReasonChangedSince},
	} {
		for _, shallow := range []bool{false, true} {
			t.Run(tc.name+map[bool]string{true: ", in a shallow clone"}[shallow], func(t *testing.T) {
				r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a"), "unsigned/.gitkeep": "", ".polex.yaml": "lax"})
				r.Commit("Another one")
				other := r.remote()
				dir := r.Dir
				if shallow {
					dir = filepath.Join(r.Home, "shallow")
					r.Git("clone", "--quiet", "--depth=1", "file://"+strings.TrimSpace(r.Git("remote", "get-url", "origin")), dir)
				}
				tc.others(other)
				q, err := r.try(dir, promotion.Options{Rules: []string{".polex.yaml", "policies"}})
				must.Do(r.TB, err)
				tip, err := promotion.Target(t.Context(), r.clone, toMain.To, false)
				must.Do(r.TB, err)
				must.That(t, tip != git.NewHash(r.Head()), "the remote has not moved")
				plan, err := q.Queue.Plan(tip)
				must.Do(r.TB, err)
				switch {
				case tc.want == "" && (len(plan.Moves) != 1 || len(plan.Skipped) != 0):
					t.Errorf("%d moves, and skipped %v", len(plan.Moves), plan.Skipped)
				case tc.want != "" && (len(plan.Moves) != 0 || len(plan.Skipped) != 1 || plan.Skipped[0].Reason != tc.want):
					t.Errorf("%d moves, and skipped %v; want %s", len(plan.Moves), plan.Skipped, tc.want)
				}
			})
		}
	}
}

// TestRulesAreCommitted: the rules of a run are those of HEAD. A configuration that is not in HEAD
// belongs to the caller.
func TestRulesAreCommitted(t *testing.T) {
	for change, want := range map[string]string{"policies/a.yaml": "differs from the commit", "policies/new.yaml": "differs from the commit", ".polex.yaml": "differs from the commit", "own.yaml": "", "other.txt": ""} {
		t.Run(change, func(t *testing.T) {
			r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a"), ".polex.yaml": "strict", "policies/a.yaml": "strict", "other.txt": "a"})
			_, _ = r.Try("update-index", "--assume-unchanged", change) // hides nothing
			r.Write(change, "lax")
			_, err := r.try(r.Dir, promotion.Options{Rules: []string{".polex.yaml", "own.yaml", "policies"}})
			expect.That(t, (err != nil) == (want != "") && (err == nil || strings.Contains(err.Error(), want)),
				"%v, want %q", err, want)
		})
	}
}
