package ledger_test

import (
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
	w, err := theWorld()
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

// seal signs documents as polex-sign does, and returns their texts.
func (w *world) seal(tb testing.TB, texts ...string) []string {
	tb.Helper()
	out := make([]string, len(texts))
	for i, text := range texts {
		doc, err := exception.Parse([]byte(text), "draft")
		if err != nil {
			tb.Fatal(err)
		}
		sealed, err := w.signer.Seal(tb.Context(), []*exception.Document{doc}, w.now)
		if err != nil {
			tb.Fatal(err)
		}
		out[i] = string(sealed[0].Source())
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
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "GIT_") {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	address, date := strings.ToLower(who)+"@example.com", fmt.Sprintf("%d +0000", r.when.Unix())
	cmd.Env = append(cmd.Env, "HOME="+r.dir, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME="+who, "GIT_AUTHOR_EMAIL="+address, "GIT_AUTHOR_DATE="+date,
		"GIT_COMMITTER_NAME="+who, "GIT_COMMITTER_EMAIL="+address, "GIT_COMMITTER_DATE="+date)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.tb.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// files are the changes of a commit; "" removes a file.
type files map[string]string

func (r *repository) commit(who, message string, change files) string {
	r.tb.Helper()
	r.when = r.when.Add(time.Minute)
	for name, text := range change {
		path := filepath.Join(r.dir, name)
		if text == "" {
			if err := os.Remove(path); err != nil {
				r.tb.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			r.tb.Fatal(err)
		}
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
	opened, err := git.Open(context.Background(), r.dir)
	if err != nil {
		r.tb.Fatal(err)
	}
	defer opened.Close()
	tip, err := opened.Resolve("main")
	if err != nil {
		r.tb.Fatal(err)
	}
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
	l, err := r.read(w, bend)
	if err != nil {
		r.tb.Fatal(err)
	}
	return l
}
