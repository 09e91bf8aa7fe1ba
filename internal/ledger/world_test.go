package ledger_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/gitrepo"
	"github.com/polex-dev/polex/test/must"
)

const subject = "https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/main"

// world is a Sigstore on loopback with a signer and a verifier.
type world struct {
	*sandbox.Sandbox
	now      time.Time // before every commit and signature
	signer   *sign.Signer
	verifier *verify.Verifier
}

var box sandboxtest.Shared

func TestMain(m *testing.M) { sandboxtest.Main(m, &box) }

var theWorld = sync.OnceValues(func() (*world, error) {
	s, err := box.Start()
	if err != nil {
		return nil, err
	}
	w := &world{Sandbox: s, now: time.Now().UTC().Truncate(time.Second)}
	root, err := trust.LoadRoot(s.TrustedRootPath)
	if err != nil {
		return nil, err
	}
	policy, err := trust.New(trust.Config{Authorities: []trust.AuthorityConfig{{Name: "merge", Issuer: s.IssuerURL, Subject: subject}}}, root)
	if err != nil {
		return nil, err
	}
	if w.verifier, err = verify.New(policy); err != nil {
		return nil, err
	}
	w.signer, err = sandboxtest.Signer(context.Background(), s, sandbox.Identity{})
	return w, err
})

func inWorld(tb testing.TB) *world {
	tb.Helper()
	return must.Get(theWorld())(tb)
}

// seal signs documents as polex-sign does, and returns their texts.
func (w *world) seal(tb testing.TB, texts ...string) []string {
	tb.Helper()
	return sealBy(tb, w.signer, w.now, texts...)
}

func sealBy(tb testing.TB, signer *sign.Signer, at time.Time, texts ...string) []string {
	tb.Helper()
	out := make([]string, len(texts))
	for i, text := range texts {
		doc := must.Get(exception.Parse([]byte(text), "draft"))(tb)
		out[i] = string(must.Get(signer.Seal(tb.Context(), []*exception.Document{doc}, at))(tb)[0].Source())
	}
	return out
}

// draft is a request for an exception with this duration.
func draft(name, expiresIn, reason string) string {
	return fmt.Sprintf(`apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: %s
  namespace: platform
  annotations: {polex.dev/expires-in: %s, polex.dev/reason: %q, polex.dev/owner: team-a, polex.dev/approved-by: grace}
spec:
  match:
    any:
    - resources: {kinds: [Pod], namespaces: [data], names: [one]}
  exceptions:
  - policyName: require-run-as-nonroot
    ruleNames: [run-as-non-root]
`, name, expiresIn, reason)
}

// repository is a real Git repository. Its commits are a minute apart.
type repository struct {
	tb   testing.TB
	dir  string
	when time.Time
}

func newRepository(tb testing.TB, when time.Time) *repository {
	tb.Helper()
	r := &repository{tb: tb, dir: tb.TempDir(), when: when}
	r.git("Init", "init", "--quiet", "--initial-branch=main")
	return r
}

// git runs git with a person as author and committer.
func (r *repository) git(who string, args ...string) string {
	r.tb.Helper()
	address, date := strings.ToLower(who)+"@example.com", fmt.Sprintf("%d +0000", r.when.Unix())
	g := gitrepo.Repository{TB: r.tb, Dir: r.dir, Home: r.dir, Env: []string{
		"GIT_AUTHOR_NAME=" + who, "GIT_AUTHOR_EMAIL=" + address, "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=" + who, "GIT_COMMITTER_EMAIL=" + address, "GIT_COMMITTER_DATE=" + date}}
	return g.Line(args...)
}

// cloned clones the repository into another folder.
func (r *repository) cloned(options ...string) *repository {
	r.tb.Helper()
	clone := *r
	clone.dir = filepath.Join(r.tb.TempDir(), "clone")
	r.git("x", append(append([]string{"clone", "--quiet"}, options...), "file://"+r.dir, clone.dir)...)
	return &clone
}

// files are the changes of a commit; "" removes a file.
type files map[string]string

func (r *repository) commit(who, message string, change files) string {
	r.tb.Helper()
	r.when = r.when.Add(time.Minute)
	for name, text := range change {
		path := filepath.Join(r.dir, name)
		if text == "" {
			must.Do(r.tb, os.Remove(path))
			continue
		}
		must.Do(r.tb, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(r.tb, os.WriteFile(path, []byte(text), 0o644))
	}
	r.git(who, "add", "--all")
	r.git(who, "commit", "--quiet", "--allow-empty", "--message", message)
	return r.git(who, "rev-parse", "HEAD")
}

// merge commits on a branch and merges it.
func (r *repository) merge(who, merger, message string, change files) {
	r.tb.Helper()
	r.git(who, "checkout", "--quiet", "-b", "request")
	r.commit(who, message, change)
	r.git(who, "checkout", "--quiet", "main")
	r.when = r.when.Add(time.Minute)
	r.git(merger, "merge", "--quiet", "--no-ff", "--message", "Merge: "+message, "request")
	r.git(who, "branch", "--quiet", "--delete", "request")
}

// read makes the report of the branch main.
func (r *repository) read(w *world, bend func(*ledger.Options)) (*ledger.Ledger, error) {
	r.tb.Helper()
	opened := must.Get(git.Open(context.Background(), r.dir))(r.tb)
	defer opened.Close()
	tip := must.Get(opened.Resolve("main"))(r.tb)
	o := ledger.Options{Signed: "signed", Unsigned: "unsigned", Verifier: w.verifier, Now: w.now.Add(time.Hour)}
	if bend != nil {
		bend(&o)
	}
	return ledger.Read(opened, tip, o)
}

// oneWorker makes the rest of a test run on one processor.
func oneWorker(t *testing.T) func(*ledger.Options) {
	return func(*ledger.Options) {
		before := runtime.GOMAXPROCS(1)
		t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	}
}

func (r *repository) mustRead(w *world, bend func(*ledger.Options)) *ledger.Ledger {
	r.tb.Helper()
	return must.Get(r.read(w, bend))(r.tb)
}

// synthetic makes a repository with 20 commits for every 10 exceptions: 10 request one each, 8 sign
// one or two, and 2 remove two older ones. A fifth of the requests is in a merge.
func synthetic(tb testing.TB, w *world, exceptions int) *repository {
	tb.Helper()
	docs := make([]*exception.Document, exceptions)
	for i := range docs {
		text := draft(fmt.Sprintf("e%05d", i), fmt.Sprintf("%dd", 10+i%80), fmt.Sprintf("reason %d", i))
		docs[i] = must.Get(exception.Parse([]byte(text), "draft"))(tb)
	}
	sealed := must.Get(w.signer.Seal(tb.Context(), docs, w.now))(tb)
	r := newRepository(tb, w.now)
	h := &history{when: w.now.Add(-time.Duration(3*exceptions) * time.Minute)}
	pruned := 0
	for group := 0; group < exceptions; group += 10 {
		for i := group; i < group+10; i++ {
			h.commit("Ann", fmt.Sprintf("Ask for %d", i), i%5 == 0 && i > 0, write(fmt.Sprintf("unsigned/e%05d.yaml", i), docs[i].Source()))
		}
		for i := group; i < group+10; {
			var change []string
			take := 1 + (i%5)/4 // 4 and 9 together with the next one
			if i == group+4 || i == group+8 {
				take = 2
			}
			for range min(take, group+10-i) {
				change = append(change, write(fmt.Sprintf("signed/e%05d.yaml", i), sealed[i].Source()), fmt.Sprintf("D unsigned/e%05d.yaml\n", i))
				i++
			}
			h.commit("Workflow", "Sign", false, change...)
		}
		for range 2 {
			if group < 100 {
				h.commit("Somebody", "Something else", false, write("README.md", []byte(fmt.Sprint(h.mark))))
				continue
			}
			message, change := "Prune\n\n", []string{}
			for range 2 {
				message += fmt.Sprintf("Polex-Pruned: signed/e%05d.yaml 1\n", pruned)
				change = append(change, fmt.Sprintf("D signed/e%05d.yaml\n", pruned))
				pruned++
			}
			h.commit("Pruner", message, false, change...)
		}
	}
	cmd := exec.CommandContext(tb.Context(), "git", "fast-import", "--quiet")
	cmd.Dir, cmd.Stdin = r.dir, &h.stream
	out, err := cmd.CombinedOutput()
	must.That(tb, err == nil, "%v\n%s", err, out)
	r.git("x", "gc", "--quiet")
	return r
}

// history is a stream for git fast-import.
type history struct {
	stream bytes.Buffer
	mark   int
	when   time.Time
}

func write(path string, content []byte) string {
	return fmt.Sprintf("M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
}

// commit adds a commit to main or, if merged, a commit on a branch and its merge.
func (h *history) commit(who, message string, merged bool, changes ...string) {
	h.when = h.when.Add(time.Minute)
	by := fmt.Sprintf("%s <%s@example.com> %d +0000", who, who, h.when.Unix())
	tip := h.mark
	put := func(branch, message string, parents ...int) {
		h.mark++
		fmt.Fprintf(&h.stream, "commit refs/heads/%s\nmark :%d\nauthor %s\ncommitter %s\ndata %d\n%s\n", branch, h.mark, by, by, len(message), message)
		for i, parent := range parents {
			fmt.Fprintf(&h.stream, "%s :%d\n", []string{"from", "merge"}[min(i, 1)], parent)
		}
		for _, change := range changes {
			h.stream.WriteString(change)
		}
		h.stream.WriteString("\n")
	}
	switch {
	case merged:
		put("side", message, tip)
		put("main", "Merge", tip, h.mark)
	case tip == 0:
		put("main", message)
	default:
		put("main", message, tip)
	}
}

// TestSynthetic: the report of a long history is correct. It is the same from a clone.
func TestSynthetic(t *testing.T) {
	w := inWorld(t)
	const exceptions = 120
	r := synthetic(t, w, exceptions)
	first := r.mustRead(w, nil)
	expect.Equal(t, "states", map[ledger.State]int{ledger.Open: exceptions - 8, ledger.Removed: 8}, first.States())
	for _, e := range first.Entries {
		if e.Request == nil || e.Request.By != "Ann <Ann@example.com>" || !e.Verified || e.Left != nil && e.Left.How != ledger.Pruned {
			t.Fatalf("%s: %+v", e.Identity, e)
		}
	}
	expect.Empty(t, "findings", first.Findings)
	clone := r.cloned("--bare")
	expect.Equal(t, "cloned", lines(first), lines(clone.mustRead(w, nil)))
	expect.Equal(t, "one worker", lines(first), lines(clone.mustRead(w, oneWorker(t))))
}

// BenchmarkLedger reads 10,000 commits with 5,000 exceptions, many of them expired. It measures
// these folders, and folders without files.
func BenchmarkLedger(b *testing.B) {
	w := inWorld(b)
	r := synthetic(b, w, 5000)
	later := func(o *ledger.Options) { o.Now = w.now.AddDate(0, 0, 45) }
	for name, bend := range map[string]func(*ledger.Options){
		"all":     func(*ledger.Options) {},
		"nothing": func(o *ledger.Options) { o.Signed, o.Unsigned = "a", "b" },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				l := r.mustRead(w, func(o *ledger.Options) { later(o); bend(o) })
				b.ReportMetric(float64(l.Commits+l.Merged), "commits")
				var memory runtime.MemStats
				runtime.ReadMemStats(&memory)
				b.ReportMetric(float64(memory.Sys)/1e6, "MB")
			}
		})
	}
}
