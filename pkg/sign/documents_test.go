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
