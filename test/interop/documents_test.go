package interop_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/modcache"
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
	return must.Get(exception.Parse([]byte(text), "exception.yaml"))(tb)
}

// sealed returns a document as polex-sign signs it.
func sealed(tb testing.TB, text string) string {
	tb.Helper()
	out := must.Get(signer(tb).Seal(tb.Context(), []*exception.Document{parse(tb, text)}, time.Now()))(tb)
	return string(out[0].Source())
}

const page = "../../docs/explanation/interop.md"

// TestDocs: docs/explanation/interop.md gives each cause for which polex rejects a document that others accept.
func TestDocs(t *testing.T) {
	text, causes := read(t, page), 0
	for id, v := range publishedVerdicts {
		cause, _, _ := strings.Cut(v.why, ". The request")
		expect.That(t, strings.Contains(text, "- "+cause), "%s does not say why polex rejects %s: %s", page, id, cause)
		if cause != "" {
			causes++
		}
	}
	expect.AtLeast(t, "causes", 10, causes)
}

// TestDocsVersions compares the versions in docs/explanation/interop.md with the pinned ones, and
// the versions of the test data with polex's dependencies.
func TestDocsVersions(t *testing.T) {
	text := read(t, page)
	for _, pin := range []struct{ name, file, module string }{
		{"Fulcio", "sigstore/go.mod", "github.com/sigstore/fulcio"},
		{"Rekor", "sigstore/go.mod", "github.com/sigstore/rekor"},
		{"Trillian", "sigstore/go.mod", "github.com/google/trillian"},
		{"rekor-tiles", "sigstore/go.mod", "github.com/sigstore/rekor-tiles/v2"},
		{"timestamp-authority", "sigstore/go.mod", "github.com/sigstore/timestamp-authority/v2"},
		{"certificate-transparency-go", "sigstore/go.mod", "github.com/google/certificate-transparency-go"},
		{"cosign", "sigstore/go.mod", "github.com/sigstore/cosign/v3"},
		{"Kyverno", "kyverno/go.mod", "github.com/kyverno/kyverno"},
		{"kube-apiserver", "kubernetes/go.mod", "k8s.io/kubernetes"},
		{"kubectl-sigstore", "../../../go.mod", "github.com/sigstore/k8s-manifest-sigstore"},
		{"sigstore-go", "../../../go.mod", "github.com/sigstore/sigstore-go"},
		{"protobuf-specs", "../../../go.mod", "github.com/sigstore/protobuf-specs"},
	} {
		want := pin.name + " " + pinned(t, pin.file, pin.module)
		expect.That(t, strings.Contains(text, want), "%s does not say %q", page, want)
	}
	for _, data := range []string{modcache.KubectlSigstore, modcache.SigstoreGo, modcache.ProtobufSpecs} {
		module, version, _ := strings.Cut(data, "@v")
		want := pinned(t, "../../../go.mod", module)
		expect.That(t, version == want, "the test data is that of %s, and polex is built of %s", data, want)
	}
	install := "kubectl-sigstore@v" + pinned(t, "../../../go.mod", "github.com/sigstore/k8s-manifest-sigstore")
	expect.That(t, strings.Contains(read(t, "../../Makefile"), install), "the Makefile does not install %s", install)
}

// pinned returns the version of a module in a go.mod under test/e2e/tools.
func pinned(t *testing.T, file, module string) string {
	t.Helper()
	_, after, found := strings.Cut(read(t, filepath.Join("..", "e2e", "tools", file)), "\t"+module+" v")
	must.That(t, found, "%s does not require %s", file, module)
	return strings.Fields(after)[0]
}

func read(t *testing.T, path string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(path))(t))
}
