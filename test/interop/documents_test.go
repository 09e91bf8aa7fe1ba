package interop_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sigstore/k8s-manifest-sigstore/pkg/k8smanifest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
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

var (
	peerKeys       k8smanifest.AnnotationConfig
	messageKey     = peerKeys.MessageAnnotationKey()
	signatureKey   = peerKeys.SignatureAnnotationKey(0)
	certificateKey = peerKeys.CertificateAnnotationKey(0)
	bundleKey      = peerKeys.BundleAnnotationKey(0)
)

func now() metav1.Time { return metav1.Now() }

func annotationOf(t *testing.T, text, key string) string {
	t.Helper()
	obj := object(t, text)
	value, ok := obj.GetAnnotations()[key]
	must.That(t, ok, "there is no %s", key)
	return value
}

// drop removes an annotation from a manifest.
func drop(t *testing.T, text, key string) string {
	t.Helper()
	obj := object(t, text)
	annotations := obj.GetAnnotations()
	_, ok := annotations[key]
	must.That(t, ok, "there is no %s", key)
	delete(annotations, key)
	obj.SetAnnotations(annotations)
	return string(must.Get(yaml.Marshal(obj.Object))(t))
}

// sealKeys returns the signature annotations of a manifest, sorted.
func sealKeys(t *testing.T, text string) []string {
	t.Helper()
	obj := object(t, text)
	return slices.Sorted(func(yield func(string) bool) {
		for key := range obj.GetAnnotations() {
			if strings.HasPrefix(key, seal.Prefix) && !yield(key) {
				return
			}
		}
	})
}

// polex writes the peer's annotations and one more. The peer ignores the prefix of its name in comparisons.
func TestAnnotationsAreThePeers(t *testing.T) {
	peers := sealKeys(t, peerSigns(t, unique(t, resolved(texts["policies.kyverno.io"])), keyless))
	expect.Equal(t, "the peer's own", []string{bundleKey, certificateKey, messageKey, signatureKey}, peers)
	const modern = "cosign.sigstore.dev/bundle.v0.3"
	want := slices.Sorted(slices.Values(append(slices.Clone(peers), modern)))
	expect.Equal(t, "a seal", want, sealKeys(t, sealed(t, texts["policies.kyverno.io"])))
	expect.That(t, seal.Prefix == k8smanifest.DefaultAnnotationKeyDomain+"/",
		"prefix %q, the peer's domain is %q", seal.Prefix, k8smanifest.DefaultAnnotationKeyDomain)
	if !slices.ContainsFunc(peerKeys.AnnotationKeyMask(), func(mask string) bool {
		prefix, ok := strings.CutSuffix(mask, "*")
		path := "metadata.annotations." + modern
		return ok && strings.HasPrefix(path, prefix)
	}) {
		t.Errorf("the peer compares %s: it leaves out %q", modern, peerKeys.AnnotationKeyMask())
	}
}

// Every numbered key that the peer writes is also one of polex, except the reference to another
// object, which polex never follows.
func TestNumberedKeysAreThePeers(t *testing.T) {
	for i := range seal.MaxSignatures {
		for part, key := range peerKeys.AnnotationKeyMap(i) {
			if got, want := seal.IsKey(key), part != "resourceBundleRef"; got != want {
				t.Errorf("%s is a seal's: %v, want %v", key, got, want)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Values(peerKeys.AnnotationKeyMap(seal.MaxSignatures))) {
		expect.That(t, key == messageKey || !seal.IsKey(key), "%s is a seal's, beyond the most signatures of one", key)
	}
}

// The peer finds the same signature sets as polex.
func TestPeerReadsOurSets(t *testing.T) {
	text := sealed(t, texts["policies.kyverno.io"])
	obj := object(t, text)
	want := []map[string]string{{
		"message": annotationOf(t, text, messageKey), "signature": annotationOf(t, text, signatureKey),
		"certificate": annotationOf(t, text, certificateKey), "bundle": annotationOf(t, text, bundleKey),
	}}
	expect.Equal(t, "sets", want, peerKeys.GetAllSignatureSets(obj.GetAnnotations()))
}

// Both signers sign the same bytes for an object.
func TestMessageIsThePeers(t *testing.T) {
	for name, text := range texts {
		if name == "JSON" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			text := resolved(text)
			if strings.Contains(text, "policies.kyverno.io") {
				text = strings.Replace(text, "spec:\n", "spec:\n  reportResult: skip\n", 1)
			}
			read := func(text string) string { return string(must.Get(seal.Read(parse(t, text)))(t).Message) }
			peers := read(peerSigns(t, unique(t, text), keyless))
			expect.Equal(t, "message (-peer's +ours)", peers, read(sealed(t, unique(t, text))))
			if message, err := seal.ParseMessage([]byte(peers)); err != nil {
				t.Error(err)
			} else if again, err := exception.Canonical(message.Object()); err != nil || string(again) != peers {
				t.Errorf("canonical form differs: %v\n%s", err, cmp.Diff(peers, string(again)))
			}
		})
	}
}
