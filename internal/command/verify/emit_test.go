package verify

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestTooMuchToEmit: verified documents above the size limit are undecided, and none is printed.
// The scripts in test/cli do not reach 64 MiB.
func TestTooMuchToEmit(t *testing.T) {
	doc, verifier := sealed(t)
	for _, tc := range []struct {
		form  string
		limit int
		want  int
	}{
		{"message", 1000, cli.Passed}, {"message", 100, cli.Undecided},
		{"signed", 20000, cli.Passed}, {"signed", 1000, cli.Undecided},
	} {
		r := run{options: &options{emit: tc.form, format: &cli.Format{}}, verifier: verifier,
			report: &cli.Report{Documents: 1}, now: inForce, emitted: exception.Stream{Limit: tc.limit}}
		r.settle(doc, r.verify(doc))
		var out strings.Builder
		must.Do(t, r.writeEmitted(&out))
		if r.report.Status() != tc.want || (out.Len() > 0) != (tc.want == cli.Passed) {
			t.Errorf("%s of %d bytes: status %d, %q, %+v", tc.form, tc.limit, r.report.Status(), out.String(), r.report.Results())
		}
		if tc.want == cli.Undecided && r.report.Results()[0].Reason != reasonNotEmitted {
			t.Errorf("%s of %d bytes: %+v", tc.form, tc.limit, r.report.Results())
		}
	}
}

// TestAnyTime: with --any-time, an exception passes before its start and after its expiry. One that
// was changed is rejected at any time.
func TestAnyTime(t *testing.T) {
	doc, verifier := sealed(t)
	text := must.Get(os.ReadFile(filepath.Join("..", "..", "..", "pkg", "verify", "testdata", "sealed.yaml")))(t)
	changed := must.Get(exception.Parse([]byte(strings.Replace(string(text), "names: [\"x-*\"]", "names: [\"y-*\"]",
		1)), "sealed.yaml"))(t)
	for _, tc := range []struct {
		name    string
		doc     *exception.Document
		now     time.Time
		anyTime bool
		reason  string
		says    string
	}{
		{name: "now", doc: doc, now: inForce, reason: "verified"},
		{name: "expired", doc: doc, now: inForce.AddDate(1, 0, 0), reason: verify.ReasonExpired},
		{name: "expired at any time", doc: doc, now: inForce.AddDate(1, 0, 0), anyTime: true, reason: "verified", says: " (it expired at 2026-"},
		{name: "signed in the future", doc: doc, now: inForce.AddDate(-1, 0, 0), anyTime: true, reason: verify.ReasonSignedInFuture},
		{name: "changed", doc: changed, now: inForce, anyTime: true, reason: verify.ReasonAltered},
		{name: "changed and expired", doc: changed, now: inForce.AddDate(1, 0, 0), anyTime: true, reason: verify.ReasonAltered},
	} {
		r := run{options: &options{anyTime: tc.anyTime, format: &cli.Format{}}, verifier: verifier,
			report: &cli.Report{Documents: 1}, now: tc.now}
		r.settle(tc.doc, r.verify(tc.doc))
		got := r.report.Results()[0]
		expect.That(t, got.Reason == tc.reason && strings.Contains(got.Message, tc.says), "%s: %+v", tc.name, got)
	}
}

// inForce is a time at which the signed document of testdata counts.
var inForce = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// sealed returns the signed document of testdata, and a verifier that trusts its signer.
func sealed(t *testing.T) (*exception.Document, *verify.Verifier) {
	t.Helper()
	testdata := filepath.Join("..", "..", "..", "pkg", "verify", "testdata")
	source := must.Get(os.ReadFile(filepath.Join(testdata, "sealed.yaml")))(t)
	doc := must.Get(exception.Parse(source, "sealed.yaml"))(t)
	cfg := must.Get(cli.LoadConfig(filepath.Join(testdata, "sealed.policy.yaml")))(t)
	config := must.Get(trust.Read(cfg.Document(), cfg.Dir))(t)
	return doc, must.Get(verify.New(must.Get(trust.Load(config))(t)))(t)
}

// TestJSONBecomesYAML: other tools sign JSON, but polex-sign does not. The command prints it as
// YAML with the same values, and the result verifies with the same signature.
func TestJSONBecomesYAML(t *testing.T) {
	const message = "{\n\t\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\",\n\t\"metadata\": {\"name\": \"a\"},\n\t\"data\": {\"on\": \"1:30\", \"n\": \"\\ttab\"}\n}"
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	digest := sha256.Sum256([]byte(message))
	signature := must.Get(key.Sign(rand.Reader, digest[:], crypto.SHA256))(t)
	signed := must.Get(exception.Parse([]byte(message), "message"))(t)
	doc := must.Get(seal.Attach(signed, &seal.Seal{Message: []byte(message),
		Signatures: []seal.Signature{{Signature: signature}}}))(t)
	public := must.Get(cryptoutils.MarshalPublicKeyToPEM(key.Public()))(t)
	policy := must.Get(trust.Load(trust.Config{Kinds: []string{"ConfigMap"},
		Authorities: []trust.AuthorityConfig{{Name: "ci", Key: string(public), InsecureWithoutLog: true}}}))(t)
	verifier := must.Get(verify.New(policy))(t)
	verified := must.Get(verifier.Verify(doc, time.Now()))(t)
	for _, form := range []string{"message", "signed"} {
		emitted := must.Get(printed(doc, verified, form == "signed"))(t)
		text := emitted.Source()
		read := must.Get(exception.Parse(text, form))(t)
		expect.That(t, !read.JSON(), "%s is JSON:\n%s", form, text)
		if form == "message" {
			expect.Equal(t, "result (-signed +printed)", signed.Object(), read.Object())
			continue
		}
		_, err := verifier.Verify(read, time.Now())
		expect.That(t, err == nil, "%v\n%s", err, text)
	}
}
