package ledger_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// asked returns the first author of an exception, the time, the file and the moves.
func asked(e *ledger.Entry) string {
	if e.Request == nil {
		return string(e.State)
	}
	who, _, _ := strings.Cut(e.Request.By, " ")
	text := fmt.Sprintf("%s: %s at %s in %s", e.State, who, e.Request.At.Format("15:04"), e.Request.File)
	for _, m := range e.Request.Moves {
		who, _, _ := strings.Cut(m.By, " ")
		text += fmt.Sprintf(", moved by %s from %s", who, m.From)
	}
	return text
}

const otherKinds = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\n"

// TestMoves: an exception keeps its first author, time and file if it is moved and edited, as polex adopt does.
func TestMoves(t *testing.T) {
	w := inWorld(t)
	text := draft("a", "30d", "a")
	other := strings.Replace(draft("b", "30d", "b"), "  namespace: platform\n", "", 1)
	sealed := w.seal(t, text)[0]
	begin := w.now.Add(-4 * time.Hour)
	r := newRepository(t, begin)
	r.commit("Root", "Begin", files{"README.md": "x"})
	r.merge("Ann", "Bob", "Ask for a", files{"deploy/a.yaml": draft("a", "10d", "early")})
	r.commit("Cyd", "Ask for b", files{"deploy/all.yaml": other + "---\n" + draft("c", "1h", "c"), "deploy/kustomization.yaml": otherKinds})
	r.commit("Dan", "Edit a", files{"deploy/a.yaml": text})
	r.commit("Dan", "Move a", files{"deploy/a.yaml": "", "apps/exceptions/a.yaml": text})
	r.commit("Adopter", "Adopt", files{"apps/exceptions/a.yaml": "", "deploy/all.yaml": draft("c", "1h", "c"), "unsigned/platform/a.yaml": text, "unsigned/platform/b.yaml": draft("b", "30d", "b"),
		"unsigned/kustomization.yaml": otherKinds, "unsigned/new.yaml": draft("new", "1h", "new")})
	clock := func(minutes int) string { return begin.Add(time.Duration(minutes) * time.Minute).UTC().Format("15:04") }
	want := []string{
		"waiting: Ann at " + clock(2) + " in deploy/a.yaml, moved by Dan from deploy/a.yaml, moved by Adopter from apps/exceptions/a.yaml",
		"waiting: Cyd at " + clock(4) + " in deploy/all.yaml, moved by Adopter from deploy/all.yaml",
		"waiting: Adopter at " + clock(7) + " in unsigned/new.yaml",
	}
	all := func() []string {
		var got []string
		for _, e := range r.mustRead(w, nil).Entries {
			got = append(got, asked(e))
		}
		return got
	}
	expect.Equal(t, "", want, all())
	if e := r.mustRead(w, nil).Entries[0]; e.Request.Merged == nil || !strings.HasPrefix(e.Request.Merged.By, "Bob") {
		t.Errorf("Bob merged it: %+v", e.Request)
	}
	r.commit("Workflow", "Sign", files{"unsigned/platform/a.yaml": "", "signed/a.yaml": sealed})
	want[0] = strings.Replace(want[0], "waiting", "open", 1)
	expect.Equal(t, "signed", want, all())
}

// listOf is a list of items.
func listOf(items ...string) string {
	return "apiVersion: v1\nkind: List\nitems:\n" + strings.Join(items, "")
}

func item(name string) string {
	return "- " + strings.ReplaceAll(strings.TrimSpace(draft(name, "30d", name)), "\n", "\n  ") + "\n"
}

// TestMovesFromLists: the author is known after the move for an item of a list, and for an
// exception with a Flux variable as namespace.
func TestMovesFromLists(t *testing.T) {
	w := inWorld(t)
	r := newRepository(t, w.now.Add(-4*time.Hour))
	r.commit("Ann", "Ask", files{"deploy/list.yaml": listOf(item("a"), item("b")), "deploy/c.yaml": strings.Replace(draft("c", "30d", "c"), "platform", "${NS}", 1)})
	r.commit("Adopter", "Adopt", files{"deploy/list.yaml": listOf(item("b")), "deploy/c.yaml": "", "unsigned/a.yaml": draft("a", "30d", "a"), "unsigned/c.yaml": draft("c", "30d", "c")})
	for _, e := range r.mustRead(w, nil).Entries {
		expect.That(t, strings.HasPrefix(asked(e), "waiting: Ann"), "%s: %s", e.Identity.Name, asked(e))
	}
}

// TestNeverSigned: an exception from before the first signature is "not signed yet", and not reported as modified.
func TestNeverSigned(t *testing.T) {
	w := inWorld(t)
	sealed := w.seal(t, draft("a", "30d", "a"))[0]
	r := newRepository(t, w.now.Add(-4*time.Hour))
	r.commit("Ann", "Ask for a", files{"deploy/a.yaml": draft("a", "30d", "early")})
	r.commit("Bob", "Move it", files{"deploy/a.yaml": "", "signed/a.yaml": draft("a", "30d", "a")})
	r.commit("Cyd", "Ask for b and c", files{"signed/b.yaml": draft("b", "30d", "b"), "signed/c.yaml": draft("c", "30d", "c"), "signed/kustomization.yaml": otherKinds})
	r.commit("Dan", "Edit b, drop c", files{"signed/b.yaml": draft("b", "30d", "better"), "signed/c.yaml": ""})
	r.commit("Dan", "Put c back, and drop it", files{"signed/c.yaml": draft("c", "30d", "c")})
	r.commit("Dan", "Drop it", files{"signed/c.yaml": ""})
	shows := func(what string, lines, findings []string) {
		t.Helper()
		var gotLines, gotFindings []string
		l := r.mustRead(w, nil)
		for _, e := range l.Entries {
			if e.State.Here() {
				line, _, _ := strings.Cut(asked(e), " at ")
				gotLines = append(gotLines, e.Identity.Name+" "+line)
			}
		}
		for _, f := range found(l) {
			gotFindings = append(gotFindings, strings.Replace(f, "PolicyException.kyverno.io platform/", "", 1))
		}
		expect.Equal(t, what, [][]string{lines, findings}, [][]string{gotLines, gotFindings})
	}
	shows("before", []string{"a never-signed: Ann", "b never-signed: Cyd"}, []string{"never-signed a signed/a.yaml", "never-signed b signed/b.yaml"})
	r.commit("Workflow", "Sign a", files{"signed/a.yaml": sealed})
	shows("one is signed", []string{"a open: Ann", "b never-signed: Cyd"}, []string{"never-signed b signed/b.yaml"})
	r.commit("Eve", "Without a signature", files{"signed/evil.yaml": draft("evil", "30d", "x"), "signed/a.yaml": draft("a", "30d", "a")})
	shows("put there later", []string{"a unsigned", "b never-signed: Cyd", "evil unsigned"}, []string{"unsigned a signed/a.yaml", "unsigned evil signed/evil.yaml", "never-signed b signed/b.yaml", "returned a signed/a.yaml"})
	r.commit("Eve", "Widen it", files{"signed/b.yaml": draft("b", "60d", "wider")})
	shows("edited later", []string{"a unsigned", "b unsigned", "evil unsigned"}, []string{"unsigned a signed/a.yaml", "unsigned b signed/b.yaml", "unsigned evil signed/evil.yaml", "returned a signed/a.yaml"})
}

// TestMayHoldExceptions: every document that may hold an exception is reported, with any group, any
// case of the kind, and in any list. A file without a kind is, if a reader could take it for an exception.
func TestMayHoldExceptions(t *testing.T) {
	w := inWorld(t)
	const others = "apiVersion: kyverno.io/v2\nKind: PolicyException\n"
	for _, head := range []string{
		"apiVersion: acme.example/v1\nkind: PolicyException\n", "apiVersion: acme.example/v1\nkind: policyexception\n", "apiVersion: kyverno.io/v2\nkind: PolicyExceptions\n",
		"apiVersion: v1\nkind: List\n", "apiVersion: kyverno.io/v2\nkind: PolicyExceptionList\n", "apiVersion: acme.example/v1\nkind: exceptionlist\n", others,
	} {
		r := newRepository(t, w.now.Add(-time.Hour))
		text := head + "metadata: {name: a, namespace: platform}\n"
		if head != others {
			text += "items: []\n"
		}
		r.commit("Ann", "Add it", files{"signed/a.yaml": text, "signed/kustomization.yaml": otherKinds, "signed/values.yaml": "replicas: 2\n",
			"signed/Chart.yaml": "apiVersion: v2\nname: x\nversion: 1.0.0\n", "signed/a.json": "{\"title\": \"x\"}\n"})
		got := found(r.mustRead(w, nil))
		expect.That(t, len(got) == 1 && strings.HasSuffix(got[0], " signed/a.yaml"), "%s: found %q", head, got)
	}
	// A list names no policy, and does not count as the first signature.
	r := newRepository(t, w.now.Add(-4*time.Hour))
	list := listOf(item("a"))
	r.commit("Ann", "Ask for a list", files{"signed/list.yaml": list, "signed/b.yaml": draft("b", "30d", "b"), "unsigned/list.yaml": list})
	var got []string
	for _, e := range r.mustRead(w, nil).Entries {
		got = append(got, fmt.Sprint(e.Identity.Kind, " ", e.State, " ", len(e.Policies)))
	}
	slices.Sort(got)
	expect.Equal(t, "entries", []string{"List never-signed 0", "List waiting 0", "PolicyException never-signed 1"}, got)
	for _, kind := range []ledger.Kind{ledger.KindAltered, ledger.KindUnsigned, ledger.KindUnverified, ledger.KindNeverSigned} {
		expect.That(t, slices.Contains(ledger.Select("unverified"), kind), "unverified does not mean %s", kind)
	}
}

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
			return sealBy(t, must.Get(sandboxtest.Signer(t.Context(), w.Sandbox, id))(t), w.now, draft)[0]
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
