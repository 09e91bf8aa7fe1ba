package interop_test

import (
	"testing"
	"time"

	"github.com/sigstore/k8s-manifest-sigstore/pkg/k8smanifest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/test/must"
)

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
	s, err := sign.WithKey(sign.Config{RekorURL: world.RekorURL, Root: world.root}, key.privatePEM, []byte(keyPassword))
	if err != nil {
		t.Fatal(err)
	}
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
