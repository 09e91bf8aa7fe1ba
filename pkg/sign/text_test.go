package sign_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
)

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

// The additions of signing to a text: whole lines in block style and in formatted JSON, and pairs
// in flow style.
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
			sealed := expect.Value(f.keyless(t, f.config()).Seal(t.Context(), parseAll(t, tc.text), time.Now()))(t)
			got := string(sealed[0].Source())
			expect.Equal(t, "text without what was added", tc.text, tc.added.ReplaceAllString(got, ""))
			mustVerify(t, f.policy(t), sealed)
			// Another YAML reader reads the same object.
			var other map[string]any
			expect.OK(t, yaml.UnmarshalStrict([]byte(got), &other))
			again := expect.Value(exception.FromObject(other))(t)
			expect.Equal(t, "read by another reader (-ours +theirs)", sealed[0].Object(), again.Object())
		})
	}
}
