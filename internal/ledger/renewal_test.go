package ledger_test

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// renewing drafts an exception that renews another one.
func renewing(name, expiresIn, renews, number string) string {
	return strings.Replace(draft(name, expiresIn, name), "annotations: {", fmt.Sprintf("annotations: {polex.dev/renews: %q, polex.dev/renewal: %q, ", renews, number), 1)
}

// digestOf returns the digest of the signed message.
func digestOf(t *testing.T, sealed string) string {
	t.Helper()
	doc := must.Get(exception.Parse([]byte(sealed), "sealed"))(t)
	s := must.Get(seal.Read(doc))(t)
	sum := sha256.Sum256(s.Message)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// chain is a repository in which one exception is renewed twice.
func chain(t *testing.T, w *world) *repository {
	t.Helper()
	first := w.seal(t, draft("a", "10d", "a"))[0]
	second := w.seal(t, renewing("a-r1", "20d", "a@"+digestOf(t, first), "1"))[0]
	third := w.seal(t, renewing("a-r2", "30d", "a-r1@"+digestOf(t, second), "2"))[0]
	r := newRepository(t, w.now)
	r.commit("Workflow", "Sign", files{"signed/a.yaml": first})
	r.commit("Workflow", "Renew", files{"signed/a-r1.yaml": second})
	r.commit("Pruner", "Prune\n\nPolex-Pruned: signed/a.yaml 1", files{"signed/a.yaml": ""})
	r.commit("Workflow", "Renew again", files{"signed/a-r2.yaml": third})
	return r
}

// told returns the renewals of each entry.
func told(l *ledger.Ledger) []string {
	var all []string
	for _, e := range l.Entries {
		line := fmt.Sprintf("%s %s", e.Identity.Name, e.State)
		if e.Renews != nil {
			line += fmt.Sprintf(" renews:%s/%d", e.Renews.Name, e.Renews.Number)
			if e.Renews.Of != nil {
				line += fmt.Sprintf(" of:%s/%d", e.Renews.Of.Identity.Name, e.Renews.Of.Version)
			}
		}
		for _, after := range e.RenewedBy {
			line += " by:" + after.Identity.Name
		}
		if c := e.Chain; c != nil {
			line += fmt.Sprintf(" chain:%s-%s/%d of %d", c.First().Identity.Name, c.Last().Identity.Name, c.Renewals, len(c.Entries))
		}
		all = append(all, line)
	}
	return all
}

func TestRenewals(t *testing.T) {
	w := inWorld(t)
	r := chain(t, w)
	l := r.mustRead(w, nil)
	expect.Equal(t, "result", []string{
		"a removed by:a-r1 chain:a-a-r2/2 of 3",
		"a-r1 open renews:a/1 of:a/1 by:a-r2 chain:a-a-r2/2 of 3",
		"a-r2 open renews:a-r1/2 of:a-r1/1 chain:a-a-r2/2 of 3",
	}, told(l))
	must.That(t, len(l.Findings) == 0 && len(l.Chains) == 1, "%v, %d chains", l.Findings, len(l.Chains))
	// From the first signing to the last expiry, although the first was removed before its expiry.
	c := l.Chains[0]
	length, known := c.Length()
	if from, to := l.Entries[0].Seal.SignedAt, l.Entries[2].ExpiresAt; !known || !c.From.Equal(from) || !c.To.Equal(to) || length != to.Sub(from) || length < 29*24*time.Hour {
		t.Errorf("it lasts from %s to %s, %s", c.From, c.To, length)
	}
	expect.Equal(t, "result", []ledger.Count{{Name: "require-run-as-nonroot", Open: 2, Ever: 2}}, l.Sums().Renewals)
	expect.Equal(t, "one worker", told(l), told(r.mustRead(w, oneWorker(t))))
	// Long after all have expired: they were valid at the signing, and that is enough.
	past := r.mustRead(w, func(o *ledger.Options) { o.Now = w.now.AddDate(1, 0, 0) })
	if got := told(past); got[2] != "a-r2 expired renews:a-r1/2 of:a-r1/1 chain:a-a-r2/2 of 3" || past.Sums().Renewals[0].Open != 0 || past.Sums().Renewals[0].Ever != 2 {
		t.Errorf("a year later: %q", got)
	}
}

// TestRenewalsOptions: the report for an earlier time has no later renewals. The finding about many
// renewals is optional, and only about exceptions under signed/.
func TestRenewalsOptions(t *testing.T) {
	w := inWorld(t)
	r := chain(t, w)
	for minute, want := range map[int][]string{
		1: {"a open"},
		2: {"a open by:a-r1 chain:a-a-r1/1 of 2", "a-r1 open renews:a/1 of:a/1 chain:a-a-r1/1 of 2"},
	} {
		l := r.mustRead(w, func(o *ledger.Options) { o.At = w.now.Add(time.Duration(minute) * time.Minute) })
		expect.Equal(t, fmt.Sprintf("after %d minutes", minute), want, told(l))
	}
	often := func(often int) []string { return found(r.mustRead(w, func(o *ledger.Options) { o.Renewed = often })) }
	const first, second = "renewed-often PolicyException.kyverno.io platform/a-r1 signed/a-r1.yaml",
		"renewed-often PolicyException.kyverno.io platform/a-r2 signed/a-r2.yaml"
	for n, want := range [][]string{nil, {first, second}, {second}, nil} {
		expect.Equal(t, fmt.Sprintf("%d", n), want, often(n))
	}
	r.commit("Eve", "Withdraw", files{"signed/a-r2.yaml": ""})
	expect.Empty(t, "findings", often(2))
}

// TestNotARenewal: a signed renewal is compared with its predecessor in the history.
func TestNotARenewal(t *testing.T) {
	w := inWorld(t)
	first := w.seal(t, draft("a", "10d", "a"))[0]
	digest := digestOf(t, first)
	none := "sha256:" + strings.Repeat("0", 64)
	altered := strings.Replace(first, "names: [one]", `names: ["*"]`, 1)
	if altered == first {
		altered = strings.Replace(first, "- one", `- "*"`, 1)
	}
	for name, tc := range map[string]struct {
		before  string // under signed/ as a.yaml
		after   string
		unsaid  bool // the successor has no signature
		message string
		renews  bool
		linked  bool
	}{
		"as it says":         {before: first, after: renewing("b", "1d", "a@"+digest, "1"), renews: true, linked: true},
		"never there":        {after: renewing("b", "1d", "a@"+digest, "1"), renews: true, message: "was never signed under signed/"},
		"another name":       {before: first, after: renewing("b", "1d", "c@"+digest, "1"), renews: true, message: "platform/c, which was never signed under signed/"},
		"another message":    {before: first, after: renewing("b", "1d", "a@"+none, "1"), renews: true, message: none + ", and the signed one of that name has " + digest},
		"another number":     {before: first, after: renewing("b", "1d", "a@"+digest, "7"), renews: true, linked: true, message: "it states that it is renewal 7 of PolicyException.kyverno.io platform/a, expected 1"},
		"another namespace":  {before: first, after: strings.Replace(renewing("b", "1d", "a@"+digest, "1"), "namespace: platform", "namespace: other", 1), renews: true, message: "other/a, which was never signed under signed/"},
		"of what is altered": {before: altered, after: renewing("b", "1d", "a@"+digest, "1"), renews: true, message: "the signature of that one is invalid: it differs from its signed content"},
		"of what is no seal": {before: draft("a", "1d", "a"), after: renewing("b", "1d", "a@"+none, "1"), renews: true, message: "was never signed under signed/"},
		"no form of it":      {before: first, after: renewing("b", "1d", "a", "1"), message: "is invalid"},
		"no signature":       {before: first, after: renewing("b", "1d", "c@"+none, "7"), unsaid: true},
		"neither":            {before: first, after: renewing("b", "1d", "c", "x"), unsaid: true},
		"itself":             {before: first, after: renewing("b", "1d", "b@"+none, "1"), renews: true, message: "the signed one of that name has"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, w.now)
			if tc.before != "" {
				r.commit("Workflow", "Sign", files{"signed/a.yaml": tc.before})
			}
			text := tc.after
			if !tc.unsaid {
				text = w.seal(t, text)[0]
			}
			r.commit("Workflow", "Renew", files{"signed/b.yaml": text})
			l := r.mustRead(w, nil)
			var messages []string
			for _, f := range l.Findings {
				if f.Kind == ledger.NotARenewal {
					messages = append(messages, f.Message)
					expect.That(t, f.File == "signed/b.yaml" && f.Commit == l.Tip, "it is said of %s in %s", f.File, f.Commit)
				}
			}
			got := strings.Join(messages, "\n")
			expect.That(t, len(messages) < 2 && (got == "") == (tc.message == "") && strings.Contains(got, tc.message),
				"%q, want %q", messages, tc.message)
			for _, e := range l.Entries {
				if e.Identity.Name != "b" {
					continue
				}
				if (e.Renews != nil) != tc.renews || (e.Renews != nil && e.Renews.Of != nil) != tc.linked || (e.Chain != nil) != tc.renews {
					t.Errorf("it renews %+v, in the chain %+v", e.Renews, e.Chain)
				}
			}
		})
	}
}

// TestRenewalForks: two exceptions can renew the same one. If a message left and came back, its
// last appearance is renewed.
func TestRenewalForks(t *testing.T) {
	w := inWorld(t)
	first := w.seal(t, draft("a", "10d", "a"))[0]
	renews := "a@" + digestOf(t, first)
	successors := w.seal(t, renewing("b", "20d", renews, "1"), renewing("c", "5d", renews, "1"))
	r := newRepository(t, w.now)
	r.commit("Workflow", "Sign", files{"signed/a.yaml": first})
	r.commit("Eve", "Take it away", files{"signed/a.yaml": ""})
	r.commit("Eve", "And back", files{"signed/a.yaml": first})
	r.commit("Workflow", "Renew twice", files{"signed/b.yaml": successors[0], "signed/c.yaml": successors[1]})
	l := r.mustRead(w, nil)
	expect.Equal(t, "result", []string{
		"a removed", "a open by:b by:c chain:a-c/1 of 3",
		"b open renews:a/1 of:a/2 chain:a-c/1 of 3", "c open renews:a/1 of:a/2 chain:a-c/1 of 3",
	}, told(l))
	c := l.Chains[0]
	expect.That(t, c.To.Equal(l.Entries[2].ExpiresAt), "the last end is %s", c.To)
}

// TestRenewalCutOff: in a shallow clone, the predecessor may be in the missing commits.
func TestRenewalCutOff(t *testing.T) {
	w := inWorld(t)
	r := chain(t, w)
	l := r.cloned("--depth=1").mustRead(w, nil)
	expect.Equal(t, "entries", []string{"a-r1 open renews:a/1 by:a-r2 chain:a-r1-a-r2/2 of 2",
		"a-r2 open renews:a-r1/2 of:a-r1/1 chain:a-r1-a-r2/2 of 2"}, told(l))
	expect.Equal(t, "findings", []string{"shallow"}, found(l))
}

// TestRenewalUnwitnessed: a key without a log proves no signing time. An expired exception of such
// a key counts as valid before its expiry, so it can be renewed.
func TestRenewalUnwitnessed(t *testing.T) {
	w := inWorld(t)
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	der := must.Get(x509.MarshalPKIXPublicKey(&key.PublicKey))(t)
	raw := must.Get(os.ReadFile(w.TrustedRootPath))(t)
	root := must.Get(trust.ParseRoot(raw, "sandbox"))(t)
	policy, err := trust.New(trust.Config{Authorities: []trust.AuthorityConfig{{Name: "key", InsecureWithoutLog: true,
		Key: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))}}}, root)
	must.Do(t, err)
	byKey := *w
	byKey.verifier = must.Get(verify.New(policy))(t)
	until := func(d time.Duration, text string) string {
		return strings.Replace(text, "polex.dev/expires-in: 1d", fmt.Sprintf("polex.dev/expires-at: %q", w.now.Add(d).Format(time.RFC3339)), 1)
	}
	first := keyed(t, key, until(time.Minute, draft("a", "1d", "a")))
	second := keyed(t, key, until(48*time.Hour, renewing("b", "1d", "a@"+digestOf(t, first), "1")))
	r := newRepository(t, w.now)
	r.commit("Ann", "Sign", files{"signed/a.yaml": first})
	r.commit("Ann", "Renew", files{"signed/b.yaml": second})
	l := r.mustRead(&byKey, nil)
	expect.Equal(t, "result",
		[]string{"a expired by:b chain:a-b/1 of 2", "b open renews:a/1 of:a/1 chain:a-b/1 of 2"}, told(l))
	_, known := l.Chains[0].Length()
	expect.That(t, !known, "nobody says when it began")
	got := found(l)
	expect.That(t, len(got) == 1 && strings.HasPrefix(got[0], "expired "), "%q", got)
}

// keyed signs a document with a key, without a log entry or a timestamp.
func keyed(t *testing.T, key *ecdsa.PrivateKey, text string) string {
	t.Helper()
	doc := must.Get(exception.Parse([]byte(text), "draft"))(t)
	message := must.Get(seal.Message(doc))(t)
	digest := sha256.Sum256(message)
	signature := must.Get(ecdsa.SignASN1(rand.Reader, key, digest[:]))(t)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(message)
	_ = w.Close()
	return strings.Replace(text, "annotations: {", fmt.Sprintf("annotations: {cosign.sigstore.dev/message: %q, cosign.sigstore.dev/signature: %q, ",
		base64.StdEncoding.EncodeToString(packed.Bytes()), base64.StdEncoding.EncodeToString(signature)), 1)
}
