package ledger_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestRuns: the report has a finding for a signature of an unusual run. The commit of the run has
// to contain the exception only if the trust policy requires it.
func TestRuns(t *testing.T) {
	w := inWorld(t)
	root := must.Get(trust.LoadRoot(w.TrustedRootPath))(t)
	trusting := func(change func(*trust.AuthorityConfig)) *verify.Verifier {
		t.Helper()
		a := trust.AuthorityConfig{Name: "merge", Issuer: w.IssuerURL, SubjectRegexp: "https://github.com/acme/exceptions/.*"}
		change(&a)
		policy := must.Get(trust.New(trust.Config{Authorities: []trust.AuthorityConfig{a}}, root))(t)
		return must.Get(verify.New(policy))(t)
	}
	any := trusting(func(*trust.AuthorityConfig) {})
	anyOwn := trusting(func(a *trust.AuthorityConfig) { a.SubjectRegexp = "https://github.com/acme/.*" })
	dispatched := trusting(func(a *trust.AuthorityConfig) {
		a.Claims = map[string]trust.Values{"buildTrigger": {"push", "workflow_dispatch"}}
	})
	strict := trusting(func(a *trust.AuthorityConfig) { a.RequireCommit = true })
	const before, asked, aside, unknown = "before", "asked", "aside", "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"
	const besideUsual = "5" // a usual run has signed another exception
	for _, tc := range []struct {
		name     string
		id       sandbox.Identity // SHA names one of the commits
		verifier *verify.Verifier
		want     []ledger.Kind
	}{
		{"usual", sandbox.Identity{SHA: asked}, strict, nil},
		{"of another repository", sandbox.Identity{SHA: unknown, Ref: "refs/heads/gone"}, any, nil},
		{"of another repository, forbidden", sandbox.Identity{SHA: unknown}, strict, []ledger.Kind{ledger.NotAtCommit}},
		{"before the request", sandbox.Identity{SHA: before}, any, nil},
		{"before the request, forbidden", sandbox.Identity{SHA: before}, strict, []ledger.Kind{ledger.NotAtCommit}},
		{"on a branch that was never merged", sandbox.Identity{SHA: aside}, any, nil},
		{"on a branch that was never merged, forbidden", sandbox.Identity{SHA: aside}, strict, []ledger.Kind{ledger.NotAtCommit}},
		{"started again", sandbox.Identity{SHA: asked, RunAttempt: "12"}, any, []ledger.Kind{ledger.Rerun}},
		{"started by hand", sandbox.Identity{SHA: asked, EventName: "workflow_dispatch"}, any, []ledger.Kind{ledger.OddTrigger}},
		{"started by hand, as the trust policy lists", sandbox.Identity{SHA: asked, EventName: "workflow_dispatch"}, dispatched, nil},
		{"on a branch that is gone", sandbox.Identity{SHA: asked, Ref: "refs/heads/gone"}, any, []ledger.Kind{ledger.DeletedRef}},
		{"on a branch that is gone with its commits", sandbox.Identity{SHA: unknown, Ref: "refs/heads/gone", RunID: besideUsual}, any, []ledger.Kind{ledger.DeletedRef}},
		{"of another repository beside usual ones", sandbox.Identity{SHA: unknown, Ref: "refs/heads/gone", Repository: "acme/shop", RunID: besideUsual}, anyOwn, nil},
		{"on a branch of the remote", sandbox.Identity{SHA: asked, Ref: "refs/heads/release"}, any, nil},
		{"on a tag", sandbox.Identity{SHA: asked, Ref: "refs/tags/v1"}, any, nil},
	} {
		r := newRepository(t, w.now)
		commits := map[string]string{before: r.commit("Ann", "Begin", files{"README.md": "Exceptions.\n"})}
		commits[asked] = r.commit("Ann", "Ask", files{"unsigned/a.yaml": draft("a", "10d", "why")})
		r.git("Ann", "update-ref", "refs/remotes/origin/release", "HEAD")
		r.git("Ann", "tag", "v1")
		r.git("Ann", "checkout", "--quiet", "-b", "side")
		commits[aside] = r.commit("Ann", "Beside", nil)
		r.git("Ann", "checkout", "--quiet", "main")
		if commit := commits[tc.id.SHA]; commit != "" {
			tc.id.SHA = commit
		}
		sealed := func(id sandbox.Identity, draft string) string {
			t.Helper()
			signer := must.Get(sandboxtest.Signer(t.Context(), w.Sandbox, id))(t)
			doc := must.Get(exception.Parse([]byte(draft), "draft"))(t)
			sealed := must.Get(signer.Seal(t.Context(), []*exception.Document{doc}, w.now))(t)
			return string(sealed[0].Source())
		}
		signed := files{"unsigned/a.yaml": "", "signed/a.yaml": sealed(tc.id, draft("a", "10d", "why"))}
		if tc.id.RunID == besideUsual {
			signed["signed/b.yaml"] = sealed(sandbox.Identity{SHA: commits[asked]}, draft("b", "10d", "why"))
		}
		r.commit("Workflow", "Sign", signed)
		l := r.mustRead(w, func(o *ledger.Options) { o.Verifier = tc.verifier })
		var got []ledger.Kind
		for _, f := range l.Findings {
			got = append(got, f.Kind)
			expect.That(t, !strings.Contains(f.Message, "%!"), "%v", f.Message)
		}
		expect.That(t, slices.Equal(got, tc.want) && len(l.Entries) == len(signed)-1 && l.Entries[0].Verified,
			"%s: %q, want %q", tc.name, l.Findings, tc.want)
	}
}
