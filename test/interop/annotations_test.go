package interop_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sigstore/k8s-manifest-sigstore/pkg/k8smanifest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

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
