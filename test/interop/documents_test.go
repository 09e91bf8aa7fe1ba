package interop_test

import (
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/must"
)

// texts are typical exceptions of both API groups.
var texts = map[string]string{
	"kyverno.io, with comments": `# Approved until the vendor ships a fix.
apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: agent # the vendor's
  namespace: team-a
  labels:
    team: a
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
`,
	"policies.kyverno.io": `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata:
  name: agent
  namespace: team-a
  annotations:
    polex.dev/expires-in: 7d
spec:
  policyRefs:
  - name: disallow-host-path
    kind: ValidatingPolicy
  matchConditions:
  - name: agents
    expression: object.metadata.name.startsWith("agent-")
  properties:
    reason: "0123" # text, and not a number
`,
	"policies.kyverno.io, without annotations": `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata:
  name: plain
  namespace: team-a
spec:
  expiresAt: "2099-12-31T00:00:00Z"
  policyRefs:
  - name: disallow-host-path
    kind: ValidatingPolicy
`,
	"JSON": `{
  "apiVersion": "policies.kyverno.io/v1",
  "kind": "PolicyException",
  "metadata": {
    "name": "json",
    "namespace": "team-a",
    "annotations": {
      "polex.dev/expires-in": "7d"
    }
  },
  "spec": {
    "policyRefs": [{"name": "disallow-host-path", "kind": "ValidatingPolicy"}]
  }
}
`,
}

func parse(tb testing.TB, text string) *exception.Document {
	tb.Helper()
	doc := must.Get(exception.Parse([]byte(text), "exception.yaml"))(tb)
	return doc
}

// sealed returns a document as polex-sign signs it.
func sealed(tb testing.TB, text string) string {
	tb.Helper()
	out, err := signer(tb).Seal(tb.Context(), []*exception.Document{parse(tb, text)}, time.Now())
	if err != nil {
		tb.Fatalf("Seal: %v", err)
	}
	return string(out[0].Source())
}
