package interop_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sigstore/cosign/v2/pkg/cosign"
	"github.com/sigstore/k8s-manifest-sigstore/pkg/k8smanifest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/test/must"
)

// object reads a manifest like a Kubernetes client.
func object(tb testing.TB, text string) unstructured.Unstructured {
	tb.Helper()
	raw := must.Get(yaml.YAMLToJSONStrict([]byte(text)))(tb)
	var obj unstructured.Unstructured
	must.Do(tb, obj.UnmarshalJSON(raw))
	return obj
}

// peerOptions returns the peer's defaults for one signer, without a dry run in a cluster.
func peerOptions(edit func(*k8smanifest.VerifyResourceOption)) *k8smanifest.VerifyResourceOption {
	vo := k8smanifest.LoadDefaultConfig()
	vo.DisableDryRun = true
	vo.RekorURL = world.RekorURL
	edit(vo)
	return vo
}

func byWorkflow(vo *k8smanifest.VerifyResourceOption) {
	vo.Signers = k8smanifest.SignerList{subject()}
	vo.OIDCIssuer = world.IssuerURL
}

// peerVerifies reports whether the peer verifies the object. An error of the peer is a rejection.
func peerVerifies(tb testing.TB, obj unstructured.Unstructured, edit func(*k8smanifest.VerifyResourceOption)) (bool, *k8smanifest.VerifyResourceResult, error) {
	tb.Helper()
	defer quiet(tb)()
	result, err := k8smanifest.VerifyResource(obj, peerOptions(edit))
	return err == nil && result.Verified, result, err
}

// quiet hides the peer's prompts and raw signatures from the test's output, and the test's input
// from the peer, until restore is called.
func quiet(tb testing.TB) (restore func()) {
	tb.Helper()
	null := must.Get(os.OpenFile(os.DevNull, os.O_RDWR, 0))(tb)
	in, out, errs := os.Stdin, os.Stdout, os.Stderr
	os.Stdin, os.Stdout, os.Stderr = null, null, null
	return func() {
		os.Stdin, os.Stdout, os.Stderr = in, out, errs
		_ = null.Close()
	}
}

// keyFiles is a key pair of cosign in files, as the peer needs it.
type keyFiles struct {
	private, public string // paths
	publicPEM       string
	privatePEM      []byte
}

const keyPassword = "correct horse"

func pass(bool) ([]byte, error) { return []byte(keyPassword), nil }

func newKey(tb testing.TB) keyFiles {
	tb.Helper()
	keys := must.Get(cosign.GenerateKeyPair(pass))(tb)
	dir := tb.TempDir()
	k := keyFiles{filepath.Join(dir, "cosign.key"), filepath.Join(dir, "cosign.pub"), string(keys.PublicBytes), keys.PrivateBytes}
	for path, raw := range map[string][]byte{k.private: keys.PrivateBytes, k.public: keys.PublicBytes} {
		must.Do(tb, os.WriteFile(path, raw, 0o600))
	}
	return k
}

// peerSigns returns a manifest as the peer's signer signs it.
func peerSigns(tb testing.TB, text string, edit func(*k8smanifest.SignOption)) string {
	tb.Helper()
	// The peer leaves the key's password in the environment.
	if t, ok := tb.(*testing.T); ok {
		t.Setenv("COSIGN_PASSWORD", "")
	}
	dir := tb.TempDir()
	in := filepath.Join(dir, "in.yaml")
	must.Do(tb, os.WriteFile(in, []byte(text), 0o600))
	tarball := false
	so := &k8smanifest.SignOption{Output: filepath.Join(dir, "out.yaml"), UpdateAnnotation: true, Tarball: &tarball}
	so.RekorURL = world.RekorURL
	so.Force = true // without a prompt
	edit(so)
	restore := quiet(tb)
	out, err := k8smanifest.Sign(in, so)
	restore()
	if err != nil {
		tb.Fatalf("the peer does not sign: %v", err)
	}
	return string(out)
}

// The peer verifies a document signed by polex, as it is in Git and as it is in a cluster.
func TestPeerVerifiesOurs(t *testing.T) {
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			for where, obj := range map[string]unstructured.Unstructured{
				"in Git": object(t, sealed(t, text)), "in a cluster": live(t, sealed(t, text)),
			} {
				ok, result, err := peerVerifies(t, obj, byWorkflow)
				if !ok {
					t.Fatalf("%s: the peer refuses: %v, %v", where, result, err)
				}
				if result.Signer != subject() {
					t.Errorf("%s: the peer names the signer %q, want %q", where, result.Signer, subject())
				}
			}
		})
	}
}

// live returns a manifest with the additions of the API server and kubectl.
func live(t *testing.T, text string) unstructured.Unstructured {
	t.Helper()
	obj := object(t, text)
	obj.SetUID("5a0db0c0-ffee-4a0d-8b0c-0ffee5a0db0c")
	obj.SetResourceVersion("4711")
	obj.SetGeneration(1)
	obj.SetCreationTimestamp(now())
	annotations := obj.GetAnnotations()
	annotations["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
	obj.SetAnnotations(annotations)
	return obj
}

func TestPeerVerifiesOursByKey(t *testing.T) {
	key := newKey(t)
	s := must.Get(sign.WithKey(sign.Config{RekorURL: world.RekorURL, Root: world.root}, key.privatePEM,
		[]byte(keyPassword)))(t)
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			out := must.Get(s.Seal(t.Context(), []*exception.Document{parse(t, text)}, time.Now()))(t)
			obj := object(t, string(out[0].Source()))
			byKey := func(path string) func(*k8smanifest.VerifyResourceOption) {
				return func(vo *k8smanifest.VerifyResourceOption) { vo.KeyPath = path }
			}
			if ok, result, err := peerVerifies(t, obj, byKey(key.public)); !ok {
				t.Errorf("the peer refuses: %v, %v", result, err)
			}
			if ok, _, _ := peerVerifies(t, obj, byKey(newKey(t).public)); ok {
				t.Error("the peer accepts it by another key")
			}
		})
	}
}

// Both sides reject modified documents, and documents without a trusted signer.
func TestBothRefuseTampered(t *testing.T) {
	text := sealed(t, texts["kyverno.io, with comments"])
	other := sealed(t, texts["policies.kyverno.io"])
	spec := func(fields map[string]any, obj *unstructured.Unstructured) {
		for key, value := range fields {
			obj.Object["spec"].(map[string]any)[key] = value
		}
	}
	annotate := func(obj *unstructured.Unstructured, key, value string) {
		annotations := obj.GetAnnotations()
		annotations[key] = value
		obj.SetAnnotations(annotations)
	}
	for name, tamper := range map[string]func(obj *unstructured.Unstructured){
		"another name":  func(obj *unstructured.Unstructured) { obj.SetName("evil") },
		"another field": func(obj *unstructured.Unstructured) { spec(map[string]any{"background": true}, obj) },
		"another policy": func(obj *unstructured.Unstructured) {
			spec(map[string]any{"exceptions": []any{map[string]any{"policyName": "*", "ruleNames": []any{"*"}}}}, obj)
		},
		"another label":      func(obj *unstructured.Unstructured) { obj.SetLabels(map[string]string{"team": "b"}) },
		"another annotation": func(obj *unstructured.Unstructured) { annotate(obj, "polex.dev/expires-at", "2999-01-01T00:00:00Z") },
		"another's message":  func(obj *unstructured.Unstructured) { annotate(obj, messageKey, annotationOf(t, other, messageKey)) },
		"another's signature": func(obj *unstructured.Unstructured) {
			annotate(obj, signatureKey, annotationOf(t, other, signatureKey))
		},
		"another's bundle": func(obj *unstructured.Unstructured) { annotate(obj, bundleKey, annotationOf(t, other, bundleKey)) },
		"no seal":          func(obj *unstructured.Unstructured) { obj.SetAnnotations(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			obj := object(t, text)
			tamper(&obj)
			if ok, result, _ := peerVerifies(t, obj, byWorkflow); ok {
				t.Errorf("the peer accepts it: %v", result)
			}
			doc := must.Get(exception.FromObject(obj.Object))(t)
			if _, err := verifier(t, workflow()).Verify(doc, time.Now()); err == nil {
				t.Error("polex accepts it")
			}
		})
	}
	t.Run("another signer", func(t *testing.T) {
		stranger := func(vo *k8smanifest.VerifyResourceOption) {
			byWorkflow(vo)
			vo.Signers = k8smanifest.SignerList{subject() + "-evil"}
		}
		if ok, result, _ := peerVerifies(t, object(t, text), stranger); ok {
			t.Errorf("the peer accepts it: %v", result)
		}
		authority := workflow()
		authority.Subject += "-evil"
		if _, err := verifier(t, authority).Verify(parse(t, text), time.Now()); err == nil {
			t.Error("polex accepts it")
		}
	})
}
