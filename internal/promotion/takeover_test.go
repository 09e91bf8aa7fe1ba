package promotion_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/internal/promotion/deliver"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// sigstore is a sandbox with a signer and a verifier. strict also requires the commit of the run.
type sigstore struct {
	box              *sandbox.Sandbox
	signer           *sign.Signer
	verifier, strict *verify.Verifier
}

func newSigstore(t *testing.T) *sigstore {
	t.Helper()
	box := must.Get(sandbox.Start(t.Context(), sandbox.Options{Dir: t.TempDir()}))(t)
	t.Cleanup(func() { _ = box.Close() })
	root := must.Get(trust.LoadRoot(box.TrustedRootPath))(t)
	s := &sigstore{box: box, signer: must.Get(sandboxtest.Signer(t.Context(), box, sandbox.Identity{}))(t)}
	for verifier, requireCommit := range map[**verify.Verifier]bool{&s.verifier: false, &s.strict: true} {
		policy := must.Get(trust.New(trust.Config{Authorities: []trust.AuthorityConfig{
			{Issuer: box.IssuerURL, Subject: sandbox.Identity{}.Subject(), RequireCommit: requireCommit}}}, root))(t)
		*verifier = must.Get(verify.New(policy))(t)
	}
	return s
}

// handed signs the pending exceptions into a folder for another job.
func (q *queue) handed(t *testing.T, signer *sign.Signer) (dir string, handed *promotion.Signed) {
	t.Helper()
	sealed := must.Get(signer.Seal(t.Context(), q.Documents(), time.Now()))(t)
	dir = filepath.Join(t.TempDir(), "sealed")
	handed = must.Get(q.Signed(sealed))(t)
	must.Get(handed.Make(t.Context(), deliver.To{Way: deliver.Folder, Folder: dir}))(t)
	return dir, handed
}

// changed replaces a file of the folder by another text.
func changed(name string, change func(text string) string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		content := must.Get(os.ReadFile(path))(t)
		must.Do(t, os.WriteFile(path, []byte(change(string(content))), 0o600))
	}
}

func replaced(name, old, text string) func(*testing.T, string) {
	return changed(name, func(content string) string { return strings.Replace(content, old, text, 1) })
}

// moved puts a link in the place of a file or folder.
func moved(name, to string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		must.Do(t, os.Rename(filepath.Join(dir, name), filepath.Join(dir, to)))
		target := must.Get(filepath.Rel(filepath.Dir(name), to))(t)
		must.Do(t, os.Symlink(target, filepath.Join(dir, name)))
	}
}

// asking is the request of an exception for a week.
func asking(text string) string {
	return strings.Replace(text, "  namespace: team-a\n", "  namespace: team-a\n  annotations: {polex.dev/expires-in: 7d}\n", 1)
}

// TestTakeOver: signed files from another job are accepted if they match the request and were signed after it.
func TestTakeOver(t *testing.T) {
	s := newSigstore(t)
	request := asking(exceptionText("a"))
	const signed, manifest = "signed/a.yaml", promotion.ManifestName
	wider := replaced(signed, "[Pod]", "[Pod, Deployment]")
	for _, tc := range []struct {
		name  string
		asked time.Duration // from now to the time of the request
		later bool          // it starts later
		spoil func(t *testing.T, dir string)
		want  string // the reason; "" if it is accepted
	}{
		{name: "as it should be"},
		{name: "with a later start", later: true},
		{name: "with a later start, altered", later: true, want: "altered", spoil: wider},
		{name: "clocks apart", asked: 4 * time.Minute},
		{name: "sealed earlier", asked: time.Hour, want: promotion.ReasonSignedEarlier},
		{name: "two documents for one", want: promotion.ReasonNotTheRequest,
			spoil: changed(signed, func(text string) string { return text + "---\n" + text })},
		{name: "malformed", want: promotion.ReasonMalformed, spoil: changed(signed, func(string) string { return "a: [\n" })},
		{name: "altered", want: "altered", spoil: wider},
		{name: "a manifest of another kind", want: promotion.ReasonNotTheRequest, spoil: changed(manifest, func(string) string {
			return `{"apiVersion":"polex.dev/v1alpha1","kind":"Report"}`
		})},
		{name: "a manifest that leads elsewhere", want: promotion.ReasonNotTheRequest,
			spoil: replaced(manifest, `"to": "signed/a.yaml"`, `"to": ".github/workflows/a.yaml"`)},
		{name: "a manifest of what does not wait", want: promotion.ReasonNotTheRequest,
			spoil: replaced(manifest, `"from": "unsigned/a.yaml"`, `"from": "unsigned/x.yaml"`)},
		{name: "a manifest that is a link", want: pending.ReasonNotRegular, spoil: moved(manifest, manifest+".real")},
		{name: "a file that is a link", want: pending.ReasonNotRegular, spoil: moved(signed, "../real.yaml")},
		{name: "a file that is too large", want: pending.ReasonTooLarge, spoil: func(t *testing.T, dir string) {
			must.Do(t, os.Truncate(filepath.Join(dir, signed), pending.MaxFile+1))
		}},
		{name: "a file that is gone", want: promotion.ReasonNotTheRequest, spoil: func(t *testing.T, dir string) {
			must.Do(t, os.Remove(filepath.Join(dir, signed)))
		}},
		{name: "a folder that is a link", want: promotion.ReasonUnexpectedFile, spoil: moved("signed", "other")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, request := newRepository(t, nil), request
			if tc.later {
				request = startsLater(request)
			}
			r.Write("unsigned/a.yaml", request)
			r.Git("add", "--all")
			r.commitAt("Ask", time.Now().Add(tc.asked))
			q := r.open()
			dir, handed := q.handed(t, s.signer)
			if tc.spoil != nil {
				tc.spoil(t, dir)
			}
			got, err := q.TakeOver(dir, s.verifier, time.Now())
			var refused exception.Refusals
			switch {
			case tc.want == "" && (err != nil || !slices.Equal(got.Sources(), handed.Sources()) || len(got.Sources()) == 0):
				t.Errorf("TakeOver: %v", err)
			case tc.want != "" && (!errors.As(err, &refused) || refused[0].Reason != tc.want):
				t.Errorf("TakeOver: %v, want %s", err, tc.want)
			}
		})
	}
}

// startsLater returns a request with a start in an hour.
func startsLater(request string) string {
	return strings.Replace(request, "{polex.dev/expires-in", "{polex.dev/starts-at: \""+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+"\", polex.dev/expires-in", 1)
}

// TestRequireCommit: where the trust policy requires it, a signed file counts only if the commit of
// the run that signed it has the request, and is in the history of the promoted commit.
func TestRequireCommit(t *testing.T) {
	s := newSigstore(t)
	request := asking(exceptionText("a"))
	r := newRepository(t, nil)
	before := r.Commit("Begin")
	wider := r.CommitFile("Ask for other resources", "unsigned/a.yaml", strings.Replace(request, "Pod", "Job", 1))
	asked := r.CommitFile("Ask", "unsigned/a.yaml", request)
	r.Git("checkout", "--quiet", "-b", "side")
	aside := r.Commit("Beside")
	r.Git("checkout", "--quiet", "main")
	later := r.Commit("Later")
	for name, tc := range map[string]struct{ sha, want string }{
		"the promoted commit":     {later, ""},
		"the commit of the merge": {asked, ""},
		"before the request":      {before, promotion.ReasonNotAtCommit},
		"another request":         {wider, promotion.ReasonNotAtCommit},
		"another branch":          {aside, promotion.ReasonNotAtCommit},
		"an unknown commit":       {strings.Repeat("ab", 20), promotion.ReasonNotAtCommit},
		"not a commit":            {"main", promotion.ReasonNotAtCommit},
	} {
		q := r.open()
		dir, _ := q.handed(t, must.Get(sandboxtest.Signer(t.Context(), s.box, sandbox.Identity{SHA: tc.sha}))(t))
		_, err := q.TakeOver(dir, s.verifier, time.Now())
		expect.That(t, err == nil, "%s, not required: %v", name, err)
		_, err = q.TakeOver(dir, s.strict, time.Now())
		var refused exception.Refusals
		if (err == nil) != (tc.want == "") || err != nil && (!errors.As(err, &refused) || refused[0].Reason != tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// TestRunRequiresCommit: a run also checks the documents that it has signed itself.
func TestRunRequiresCommit(t *testing.T) {
	s := newSigstore(t)
	request := asking(podText("a", "a"))
	for name, tc := range map[string]struct {
		request   string
		elsewhere bool // the run is of a commit without the request
		want      []string
	}{
		"the promoted commit":                     {request, false, []string{"signed/a.yaml"}},
		"the promoted commit, with a later start": {startsLater(request), false, []string{"signed/a.yaml"}},
		"another commit":                          {request, true, []string{"unsigned/a.yaml " + promotion.ReasonNotAtCommit}},
	} {
		r := newRepository(t, nil)
		id := sandbox.Identity{SHA: r.Head()}
		r.CommitFile("Ask", "unsigned/a.yaml", tc.request)
		if !tc.elsewhere {
			id.SHA = r.Head()
		}
		signer := must.Get(sandboxtest.Signer(t.Context(), s.box, id))(t)
		job, _ := r.job()
		job.Now, job.Verifier = time.Now(), s.strict
		job.Signer = signing(func(ctx context.Context, docs []*exception.Document) ([]*exception.Document, error) {
			return signer.Sign(ctx, docs, job.Now)
		})
		result, err := promotion.Run(t.Context(), job)
		if got := outcome(result); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tc.want)
		}
	}
}

const (
	oldObject  = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata:\n  name: a\n  namespace: team-a\n"
	newObject  = "apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata:\n  name: a\n  namespace: team-a\n"
	forAWeek   = "  annotations:\n    polex.dev/expires-in: 7d\n"
	oldPolicy  = "spec:\n  exceptions:\n  - policyName: p\n    ruleNames: [r]\n"
	oldRequest = oldObject + forAWeek + oldPolicy + "  match: {any: [{resources: {kinds: [Pod]}}]}\n"
	newRequest = newObject + forAWeek + "spec:\n  policyRefs:\n  - {name: p, kind: ValidatingPolicy}\n"
	// bareRequest has no expiry, and datedRequest states it under a key of the team.
	bareRequest  = oldObject + oldPolicy
	datedRequest = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata:\n  name: a\n  labels: {until: \"2026-03-08\"}\nspec: {}\n"
)

// TestDiffers: the signed message equals the request, except for the fields that signing adds.
func TestDiffers(t *testing.T) {
	witnessed := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const expiry = "    polex.dev/expires-at: \"2026-03-08T12:00:00Z\"\n"
	const label = "  labels: {cleanup.kyverno.io/ttl: 2026-03-08T120000Z}\n"
	atAnnotations, atName, atSpec := "  annotations:\n", "  name: a\n", "spec:\n"
	for _, tc := range []struct {
		name    string
		request string
		changes []string // pairs of old and new text
		want    string   // "" if it equals the request
	}{
		{"its duration became a time", oldRequest, []string{atAnnotations, atAnnotations + expiry}, ""},
		{"likewise, as the native field, with a default", newRequest, []string{atSpec, atSpec + "  expiresAt: \"2026-03-08T12:00:00Z\"\n  reportResult: skip\n"}, ""},
		{"with the record of the review", oldRequest, []string{atAnnotations, atAnnotations + expiry +
			"    polex.dev/requested-by: ann\n    polex.dev/approved-by: bob\n    polex.dev/pull-request: https://example.com/1\n    polex.dev/merge-commit: abc\n"}, ""},
		{"where there were no annotations", bareRequest, []string{atName, atName + "  annotations: {polex.dev/approved-by: bob}\n"}, ""},
		{"the record as a native property", newRequest, []string{atSpec, atSpec + "  expiresAt: \"2026-03-08T12:00:00Z\"\n  reportResult: skip\n  properties: {approved-by: bob}\n"}, ""},
		{"its end as a label", oldRequest, []string{atAnnotations, atAnnotations + expiry, atName, atName + label}, ""},
		{"a shorter life", oldRequest, []string{atAnnotations, atAnnotations + "    polex.dev/expires-at: \"2026-03-02T12:00:00Z\"\n"}, ""},

		{"a later end beside the one that was asked for", datedRequest, []string{atName, atName + "  annotations: {polex.dev/expires-at: \"2036-03-08T12:00:00Z\"}\n"}, "metadata.annotations"},
		{"a longer life", oldRequest, []string{atAnnotations, atAnnotations + "    polex.dev/expires-at: \"2026-03-08T12:06:00Z\"\n"}, "signed document expires at"},
		{"with when it was signed", oldRequest, []string{atAnnotations, atAnnotations + expiry + "    polex.dev/signed-at: \"2026-03-01T12:00:00Z\"\n"}, ""},
		{"witnessed again later", oldRequest, []string{atAnnotations, atAnnotations + expiry + "    polex.dev/signed-at: \"2026-02-20T12:00:00Z\"\n"}, "and the signed document expires at"},
		{"no end", oldRequest, nil, "has no expiry time"},
		{"an end that nobody asked for", bareRequest, []string{atName, atName + "  annotations: {polex.dev/expires-at: \"2026-03-08T12:00:00Z\"}\n"}, "the request has no duration"},
		{"another end as a label", oldRequest, []string{atAnnotations, atAnnotations + expiry, atName, atName + strings.Replace(label, "08", "07", 1)}, "metadata.labels"},
		{"an end as a label alone", bareRequest, []string{atName, atName + label}, "the request has no duration"},
		{"its end as a label, where a key of one's own states it", datedRequest, []string{"until:", "cleanup.kyverno.io/ttl: 2026-03-08T000000Z, until:"}, ""},
		{"another end as a label, where a key of one's own states it", datedRequest, []string{"until:", "cleanup.kyverno.io/ttl: \"2026-03-09\", until:"}, "metadata.labels"},
		{"a label that the group does not get", newRequest, []string{atName, atName + label, atSpec, atSpec + "  expiresAt: \"2026-03-08T12:00:00Z\"\n  reportResult: skip\n"}, "labels"},
		{"the end at the wrong place", newRequest, []string{atAnnotations, atAnnotations + expiry, atSpec, atSpec + "  reportResult: skip\n"}, "expires-at"},
		{"without the default", newRequest, []string{atSpec, atSpec + "  expiresAt: \"2026-03-08T12:00:00Z\"\n"}, "reportResult"},
		{"another default", newRequest, []string{atSpec, atSpec + "  expiresAt: \"2026-03-08T12:00:00Z\"\n  reportResult: pass\n"}, "reportResult"},
		{"one annotation more", oldRequest, []string{atAnnotations, atAnnotations + expiry + "    polex.dev/reason: because\n"}, "polex.dev/reason"},
		{"an annotation of that name elsewhere", oldRequest, []string{atAnnotations, atAnnotations + expiry, atName, atName + "  labels: {polex.dev/approved-by: bob}\n"}, "labels"},
		{"a property more", newRequest, []string{atSpec, atSpec + "  expiresAt: \"2026-03-08T12:00:00Z\"\n  reportResult: skip\n  properties: {reason: x}\n"}, "properties"},
		{"wider", oldRequest, []string{atAnnotations, atAnnotations + expiry, "[Pod]", "[Pod, Deployment]"}, "kinds"},
		{"what a cluster adds", oldRequest, []string{atAnnotations, atAnnotations + expiry, atName, atName + "  uid: x\n"}, "only a cluster adds"},
		{"what a tool adds", oldRequest, []string{atAnnotations, atAnnotations + expiry, atName, atName + "  labels: {app.kubernetes.io/instance: x}\n"}, "only a cluster adds"},
		{"another type", oldRequest, []string{atAnnotations, atAnnotations + expiry, "ruleNames: [r]", "ruleNames: r"}, "ruleNames"},
		{"another version", oldRequest, []string{atAnnotations, atAnnotations + expiry, "kyverno.io/v2", "kyverno.io/v2beta1"}, "apiVersion"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked, signed := tc.request, tc.request
			for i := 0; i+1 < len(tc.changes); i += 2 {
				must.That(t, strings.Contains(signed, tc.changes[i]), "there is no %q", tc.changes[i])
				signed = strings.Replace(signed, tc.changes[i], tc.changes[i+1], 1)
			}
			got := promotion.Differs(parse(t, asked), parse(t, signed), witnessed, lifetime.Terms{Keys: []string{"until"}})
			expect.That(t, (got == "") == (tc.want == "") && strings.Contains(got, tc.want), "%q, want %q", got, tc.want)
		})
	}
	// Record fields in the request itself are compared.
	claims := strings.Replace(bareRequest, atName, atName+"  annotations: {polex.dev/approved-by: ann}\n", 1)
	if got := promotion.Differs(parse(t, claims), parse(t, strings.Replace(claims, "ann}", "bob}", 1)), witnessed, lifetime.Terms{}); got == "" {
		t.Error("another approver than the request says")
	}
}

func parse(tb testing.TB, text string) *exception.Document {
	tb.Helper()
	return must.Get(exception.Parse([]byte(text), "a.yaml"))(tb)
}
