package sign_test

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

const kyvernoText = `# Approved until the vendor ships a fix.
apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: %s # what the pull request calls it
  namespace: team-a
  annotations:
    polex.dev/reason: 'the vendor''s agent mounts the host'
    polex.dev/expires-in: 7d
spec:
  match:
    any:
    - resources:
        kinds: [Pod]
        names: ["agent-*"]
        namespaces: [team-a]
  exceptions: # order of keys is the author's
  - policyName: disallow-host-path
    ruleNames: [host-path]
`

const policiesText = `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata:
  name: %s
  namespace: team-a
  annotations:
    polex.dev/expires-in: 7d
spec:
  policyRefs:
  - name: disallow-host-path
    kind: ValidatingPolicy
`

func parse(tb testing.TB, text string) *exception.Document {
	tb.Helper()
	return must.Get(exception.Parse([]byte(text), "exception.yaml"))(tb)
}

// parseAll reads a stream of documents.
func parseAll(tb testing.TB, text string) []*exception.Document {
	tb.Helper()
	var docs []*exception.Document
	reader := exception.NewReader(strings.NewReader(text), "exception.yaml")
	for {
		doc, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return docs
		}
		must.That(tb, err == nil, "parse: %v", err)
		docs = append(docs, doc)
	}
}

// batch makes documents of both API groups in turns.
func batch(tb testing.TB, n int) []*exception.Document {
	tb.Helper()
	docs := make([]*exception.Document, n)
	for i := range docs {
		text := kyvernoText
		if i%2 == 1 {
			text = policiesText
		}
		docs[i] = parse(tb, fmt.Sprintf(text, fmt.Sprintf("exception-%d", i)))
	}
	return docs
}

// Each format alone is sufficient for verification, and no other is written.
func TestBundleFormats(t *testing.T) {
	f := shared(t)
	cosign := []string{"certificate-chain", "sct", "signed-entry-timestamp"}
	sigstore := append(append([]string{}, cosign...), "inclusion-proof")
	v2 := []string{"certificate-chain", "sct", "timestamp", "inclusion-proof"}
	stamped := []string{"certificate-chain", "sct", "timestamp", "signed-entry-timestamp", "inclusion-proof"}
	withTimestamp := f.config()
	withTimestamp.TimestampURL = f.TimestampURL
	for _, tc := range []struct {
		config   sign.Config
		format   sign.BundleFormat
		old, v03 bool
		checked  []string
	}{
		{f.config(), "", true, true, sigstore},
		{f.config(), sign.BundleBoth, true, true, sigstore},
		{f.config(), sign.BundleCosign, true, false, cosign},
		{f.config(), sign.BundleSigstore, false, true, sigstore},
		{withTimestamp, "", true, true, stamped}, // a timestamp authority can also be used with Rekor v1
		{f.configV2(), sign.BundleBoth, false, true, v2},
		{f.configV2(), sign.BundleSigstore, false, true, v2},
	} {
		t.Run(fmt.Sprintf("%s of version %d", tc.format, max(tc.config.RekorVersion, 1)), func(t *testing.T) {
			config := tc.config
			config.BundleFormat = tc.format
			sealed := must.Get(f.keyless(t, config).Seal(t.Context(), batch(t, 1), time.Now()))(t)
			s := must.Get(seal.Read(sealed[0]))(t)
			if old, v03 := s.Signatures[0].Bundle != nil, s.Signatures[0].BundleV03 != nil; old != tc.old || v03 != tc.v03 {
				t.Errorf("cosign's bundle %t, Sigstore's %t; want %t and %t", old, v03, tc.old, tc.v03)
			}
			expect.Equal(t, "evidence", tc.checked, mustVerify(t, f.policy(t), sealed)[0].Signatures()[0].Checked)
		})
	}
}

const jsonText = `{
    "apiVersion": "policies.kyverno.io/v1",
    "kind": "PolicyException",
    "metadata": {
        "name": "a",
        "namespace": "team-a",
        "annotations": {
            "polex.dev/expires-in": "7d"
        }
    },
    "spec": {
        "policyRefs": [
            {"name": "p", "kind": "ValidatingPolicy"}
        ]
    }
}`

const wideText = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
      namespace:   team-a
      name:        a

      annotations:
            polex.dev/expires-in:   7d   # aligned
spec:
      exceptions:
            -     policyName: disallow-host-path
                  ruleNames:
                  - host-path
      match: {any: [{resources: {kinds: [Pod]}}]}
`

// The additions of signing to a text: whole lines in block style and in formatted JSON, and pairs in flow style.
var (
	addedName = `"?(?:cosign\.sigstore\.dev/[a-z]+(?:\.v0\.3)?|polex\.dev/expires-at|expiresAt|reportResult)"?`
	addedLine = regexp.MustCompile(`(?m)^ *` + addedName + `: "?[-A-Za-z0-9+/=:]+"?,?\r?\n`)
	addedPair = regexp.MustCompile(addedName + `: "[-A-Za-z0-9+/=:]+"(?:, )?`)
)

// A reviewer's diff between signed/ and unsigned/ shows only the added lines.
func TestSealKeepsText(t *testing.T) {
	block := fmt.Sprintf(kyvernoText, "a")
	for _, tc := range []struct {
		name, text string
		added      *regexp.Regexp
	}{
		{"comments and order of keys", block, addedLine},
		{"the other group", fmt.Sprintf(policiesText, "a"), addedLine},
		{"CRLF", strings.ReplaceAll(block, "\n", "\r\n"), addedLine},
		{"no newline at the end", strings.TrimSuffix(block, "\n"), addedLine},
		{"marker and comment above", "# why\n---\n" + block, addedLine},
		{"end marker", "---\n" + block + "...\n", addedLine},
		{"wide indentation", wideText, addedLine},
		{"block scalars", edited(kyvernoText, "'the vendor''s agent mounts the host'", "|-\n      first: line\n\n      # not a comment\n"), addedLine},
		{"unicode", edited(kyvernoText, "mounts the host", "hängt am Wirt 🚢"), addedLine},
		{"pretty printed JSON", jsonText, addedLine},
		{"flow style", "---\n{apiVersion: policies.kyverno.io/v1, kind: PolicyException, metadata: {name: a, namespace: b, " +
			"annotations: {polex.dev/expires-in: 7d}}, spec: {policyRefs: [{name: p, kind: ValidatingPolicy}]}} # one line\n", addedPair},
		{"flow style within block style", edited(kyvernoText, "  annotations:\n    polex.dev/reason: 'the vendor''s agent mounts the host'\n    polex.dev/expires-in: 7d\n",
			"  annotations: {polex.dev/expires-in: 7d}\n"), addedPair},
		{"compact JSON", `{"apiVersion":"policies.kyverno.io/v1","kind":"PolicyException","metadata":{"name":"a","namespace":"b",` +
			`"annotations":{"polex.dev/expires-in":"7d"}},"spec":{"policyRefs":[{"name":"p","kind":"ValidatingPolicy"}]}}`, addedPair},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := shared(t)
			sealed := must.Get(f.keyless(t, f.config()).Seal(t.Context(), parseAll(t, tc.text), time.Now()))(t)
			got := string(sealed[0].Source())
			expect.Equal(t, "text without what was added", tc.text, tc.added.ReplaceAllString(got, ""))
			mustVerify(t, f.policy(t), sealed)
			// Another YAML reader reads the same object.
			var other map[string]any
			must.Do(t, yaml.UnmarshalStrict([]byte(got), &other))
			again := must.Get(exception.FromObject(other))(t)
			expect.Equal(t, "read by another reader (-ours +theirs)", sealed[0].Object(), again.Object())
		})
	}
}

var signedAt = time.Date(2026, 3, 1, 10, 30, 15, 999, time.FixedZone("CET", 3600))

// edited returns one of the two documents with one replacement.
func edited(text, old, replacement string) string {
	if !strings.Contains(text, old) {
		panic("nothing to edit: " + old)
	}
	return strings.Replace(fmt.Sprintf(text, "a"), old, replacement, 1)
}

func TestPrepareRefuses(t *testing.T) {
	const expiresIn = "    polex.dev/expires-in: 7d\n"
	sealed := "    cosign.sigstore.dev/"
	for _, tc := range []struct {
		name, text string
		want       []string // "line reason"
	}{
		{"already sealed", edited(kyvernoText, expiresIn, expiresIn+sealed+"message: AAAA\n"+sealed+"signature: AAAA\n"), []string{"7 signature-present"}},
		{"half of a seal", edited(kyvernoText, expiresIn, expiresIn+sealed+"certificate_1: AAAA\n"), []string{"7 signature-present"}},
		{"reference to a bundle", edited(kyvernoText, expiresIn, expiresIn+sealed+"resourceBundleRef: ghcr.invalid/a/b:c\n"), []string{"7 signature-present"}},
		{"sealed with a number", edited(kyvernoText, expiresIn, expiresIn+sealed+"signature: 7\n"), []string{"7 signature-present"}},
		{"same identity", fmt.Sprintf(kyvernoText, "a") + "---\n" + fmt.Sprintf(kyvernoText, "a"), []string{"22 duplicate-identity"}},
		{"same identity in another version", fmt.Sprintf(kyvernoText, "a") + "---\n" + edited(kyvernoText, "kyverno.io/v2", "kyverno.io/v2beta1"), []string{"22 duplicate-identity"}},
		{"unknown field", edited(kyvernoText, "spec:\n", "spec:\n  podSelector: x\n"), []string{"11 unknown-field"}},
		{"null", edited(kyvernoText, "spec:\n", "spec:\n  background: null\n"), []string{"11 null-value"}},
		{"null without a word", edited(policiesText, "spec:\n", "spec:\n  images:\n"), []string{"9 null-value"}},
		{"wrong type", edited(kyvernoText, "spec:\n", "spec:\n  background: \"true\"\n"), []string{"11 wrong-type"}},
		{"no expiry", edited(kyvernoText, expiresIn, ""), []string{"4 no-expiry"}},
		{"no expiry, the other group", edited(policiesText, "  annotations:\n"+expiresIn, ""), []string{"3 no-expiry"}},
		{"duration and time", edited(kyvernoText, expiresIn, expiresIn+"    polex.dev/expires-at: 2026-12-31T00:00:00Z\n"), []string{"9 bad-lifetime"}},
		{"duration and native time", edited(policiesText, "spec:\n", "spec:\n  expiresAt: \"2026-12-31T00:00:00Z\"\n"), []string{"7 bad-lifetime"}},
		{"two times", edited(policiesText, expiresIn, "    polex.dev/expires-at: 2026-12-30T00:00:00Z\n") + "  expiresAt: \"2026-12-31T00:00:00Z\"\n", []string{"7 bad-lifetime"}},
		{"not a duration", edited(kyvernoText, "7d", "a week"), []string{"9 bad-lifetime"}},
		{"no time at all", edited(kyvernoText, "7d", "0d"), []string{"9 bad-lifetime"}},
		{"a label that counts from elsewhere", edited(kyvernoText, "  annotations:\n", "  labels: {cleanup.kyverno.io/ttl: 7d}\n  annotations:\n"), []string{"7 bad-lifetime"}},
		{"another kind that ends in the year 1", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    polex.dev/expires-at: \"0001-01-01T00:00:00Z\"\n", []string{"6 bad-lifetime"}},
		{"says when it was signed", edited(kyvernoText, expiresIn, expiresIn+"    polex.dev/signed-at: 2026-03-01T09:30:15Z\n"), []string{"10 bad-lifetime"}},
		{"starts when it is over", edited(kyvernoText, expiresIn, expiresIn+"    polex.dev/starts-at: 2026-03-08T09:30:15Z\n"), []string{"10 bad-lifetime"}},
		{"two of three", fmt.Sprintf(kyvernoText, "b") + "---\n" + edited(kyvernoText, expiresIn, "") + "---\n" + edited(policiesText, "7d", "7y"),
			[]string{"24 no-expiry", "46 bad-lifetime"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			prepared, err := sign.Prepare(parseAll(t, tc.text), signedAt, sign.Rules{})
			var refused exception.Refusals
			must.That(t, errors.As(err, &refused) && prepared == nil,
				"Prepare: %d documents, error %v, want refusals", len(prepared), err)
			var got []string
			for _, r := range refused {
				got = append(got, fmt.Sprintf("%d %s", r.Position.Line, r.Reason))
				if r.Message == "" || r.Position.File != "exception.yaml" || !strings.Contains(err.Error(), refused[0].Reason) {
					t.Errorf("incomplete refusal %+v in %q", r, err)
				}
			}
			expect.Equal(t, fmt.Sprintf("refusals of %v", err), tc.want, got)
		})
	}
}

// The expiry counts from the signing, and the API server's defaults are added: the live object
// equals the signed message.
func TestPrepareAdds(t *testing.T) {
	const at = "2026-03-08T09:30:15Z"
	unbounded := edited(kyvernoText, "    polex.dev/expires-in: 7d\n", "")
	const annotations, label = "  annotations:\n", "cleanup.kyverno.io/ttl: \"2026-03-08T093015Z\"\n"
	end, labelled := "    polex.dev/expires-at: \""+at+"\"\n", sign.Rules{TTLLabel: true}
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
	for _, tc := range []struct {
		name, text, want string
		rules            sign.Rules
	}{
		{name: "annotation", text: fmt.Sprintf(kyvernoText, "a"),
			want: edited(kyvernoText, "  annotations:\n", "  annotations:\n    polex.dev/expires-at: \""+at+"\"\n")},
		{name: "native fields", text: fmt.Sprintf(policiesText, "a"),
			want: edited(policiesText, "spec:\n", "spec:\n  reportResult: skip\n  expiresAt: \""+at+"\"\n")},
		{name: "what is said is kept", text: edited(policiesText, "spec:\n", "spec:\n  reportResult: pass\n"),
			want: edited(policiesText, "spec:\n", "spec:\n  expiresAt: \""+at+"\"\n  reportResult: pass\n")},
		{name: "a time is kept", text: edited(kyvernoText, "polex.dev/expires-in: 7d", "polex.dev/expires-at: 2026-04-01T00:00:00Z"),
			want: edited(kyvernoText, "polex.dev/expires-in: 7d", "polex.dev/expires-at: 2026-04-01T00:00:00Z")},
		// The expiry is also a label, beside existing ones.
		{name: "the first label", text: fmt.Sprintf(kyvernoText, "a"), rules: labelled,
			want: strings.Replace(edited(kyvernoText, "metadata:\n", "metadata:\n  labels:\n    "+label), annotations, annotations+end, 1)},
		{name: "one label of two", text: edited(kyvernoText, annotations, "  labels:\n    team: a\n"+annotations), rules: labelled,
			want: edited(kyvernoText, annotations, "  labels:\n    "+label+"    team: a\n"+annotations+end)},
		{name: "no label of the other group", text: fmt.Sprintf(policiesText, "a"), rules: labelled,
			want: edited(policiesText, "spec:\n", "spec:\n  reportResult: skip\n  expiresAt: \""+at+"\"\n")},
		{name: "no expiry, which is allowed", text: unbounded, want: unbounded, rules: sign.Rules{InsecureAllowUnbounded: true}},
		{name: "another kind has no lifetime to convert", text: configMap, want: configMap},
	} {
		t.Run(tc.name, func(t *testing.T) {
			prepared := must.Get(sign.Prepare(parseAll(t, tc.text), signedAt, tc.rules))(t)
			expect.Equal(t, "source", tc.want, string(prepared[0].Source()))
		})
	}
}
