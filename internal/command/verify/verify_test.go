package verify

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/attacks"
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
		r := run{options: &options{emit: tc.form}, now: inForce, emitted: exception.Stream{Limit: tc.limit}}
		r.decide(doc, verifier)
		var out strings.Builder
		must.Do(t, r.writeEmitted(&out))
		if r.report.Status() != tc.want || (out.Len() > 0) != (tc.want == cli.Passed) {
			t.Errorf("%s of %d bytes: status %d, %q, %+v", tc.form, tc.limit, r.report.Status(), out.String(), r.report.Results())
		}
		expect.That(t, tc.want != cli.Undecided || r.report.Results()[0].Reason == reasonNotEmitted,
			"%s of %d bytes: %+v", tc.form, tc.limit, r.report.Results())
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
		r := run{options: &options{anyTime: tc.anyTime}, now: tc.now}
		r.decide(tc.doc, verifier)
		got := r.report.Results()[0]
		expect.That(t, got.Reason == tc.reason && strings.Contains(got.Message, tc.says), "%s: %+v", tc.name, got)
	}
}

// decide runs the command on one document.
func (r *run) decide(doc *exception.Document, verifier *verify.Verifier) {
	r.verifier, r.report, r.format = verifier, &cli.Report{Documents: 1}, &cli.Format{}
	r.settle(doc, r.verify(doc))
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

var update = flag.Bool("update", false, "write the first part of docs/reference/reasons.md anew")

// TestAttacks runs the command on every case of the attack corpus. It must report the expected
// result of each document, with the matching exit code.
func TestAttacks(t *testing.T) {
	for _, c := range must.Get(attacks.Read())(t) {
		t.Run(c.Name, func(t *testing.T) {
			out, status := judge(t, c, "-o", "json")
			var report struct {
				Results []struct{ Reason string }
			}
			err := json.Unmarshal(out, &report)
			must.That(t, err == nil, "%v\n%s", err, out)
			var got []string
			for _, r := range report.Results {
				got = append(got, r.Reason)
			}
			expect.Equal(t, c.Title, c.Expect, got)
			want := cli.Passed
			if slices.ContainsFunc(c.Expect, func(reason string) bool { return reason != attacks.Verified }) {
				want = cli.Refused
			}
			expect.Is(t, "exit status", want, status)
		})
	}
}

// judge runs the command on a case, in a folder with its files and at its time.
func judge(t *testing.T, c *attacks.Case, flags ...string) (out []byte, status int) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string][]byte{attacks.PolicyFile: c.Policy, attacks.RootFile: c.Root, c.File: c.Input} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	t.Chdir(dir)
	var stdout, stderr bytes.Buffer
	args := append([]string{"--config", attacks.PolicyFile, c.File}, flags...)
	status = cli.Run(t.Context(), New, args, cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr, Now: func() time.Time { return c.Now }})
	expect.That(t, stderr.Len() == 0, "on standard error: %s", stderr.Bytes())
	return stdout.Bytes(), status
}

const reasonsPage = "../../../docs/reference/reasons.md"

// TestReasonsPage compares the first part of docs/reference/reasons.md with the attack corpus: it shows
// the output of the command.
func TestReasonsPage(t *testing.T) {
	page := must.Get(filepath.Abs(reasonsPage))(t)
	want := reasonsText(t)
	raw := must.Get(os.ReadFile(page))(t)
	got, rest, found := strings.Cut(string(raw), "\n## Checks\n")
	must.That(t, found, "the page has no second part")
	if *update {
		got = want
		must.Do(t, os.WriteFile(page, []byte(got+"\n## Checks\n"+rest), 0o600))
	}
	expect.Equal(t, "docs/reference/reasons.md is out of date; make generate", want, got)
}

const pageIntro = `# Reasons

Every finding has a reason: one word that is the same in text, JSON, SARIF, admission messages and metrics. A reason never changes its meaning. This page is generated
from the code: [verification](#verification), the [checks](#checks) of exceptions, and the [other reasons](#other-reasons).

## Verification

` + "These are the reasons of `polex-verify`, and of the guard for a creation or an update. The first of the [verification steps](../../pkg/verify/doc.go) that fails gives the reason." + `
Each output is that of one case of the [attack corpus](../../test/attacks/corpus).
`

var counts = regexp.MustCompile(`(?m)^\d+ documents?: .*\n`)

func reasonsText(t *testing.T) string {
	t.Helper()
	cases := must.Get(attacks.Read())(t)
	var sections strings.Builder
	sections.WriteString(pageIntro)
	for _, reason := range slices.Concat(verify.Reasons(), cli.Reasons(), ownReasons()) {
		section(t, &sections, cases, reason)
	}
	return sections.String()
}

// section writes the description of a reason and the output for its shortest case.
func section(t *testing.T, b *strings.Builder, cases []*attacks.Case, reason exception.Reason) {
	t.Helper()
	fmt.Fprintf(b, "\n### %s\n\n%s.\n", reason.Name, strings.ToUpper(reason.Doc[:1])+reason.Doc[1:])
	var of []*attacks.Case
	for _, c := range cases {
		if slices.Contains(c.Expect, reason.Name) {
			of = append(of, c)
		}
	}
	if len(of) == 0 {
		return
	}
	shown := slices.MinFunc(of, func(a, b *attacks.Case) int {
		return len(a.Expect)*1_000_000 + len(a.Input) - len(b.Expect)*1_000_000 - len(b.Input)
	})
	out, _ := judge(t, shown)
	fmt.Fprintf(b, "\n```text\n%s```\n", counts.ReplaceAll(out, nil))
}
