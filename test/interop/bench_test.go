package interop_test

import (
	"testing"
	"time"

	"github.com/sigstore/k8s-manifest-sigstore/pkg/k8smanifest"

	"github.com/polex-dev/polex/pkg/exception"
)

// The two benchmarks verify the same object, each from what an admission
// request holds: the object's tree.

func BenchmarkPeerVerify(b *testing.B) {
	obj := object(b, sealed(b, texts["kyverno.io, with comments"]))
	vo := peerOptions(byWorkflow)
	b.ReportAllocs()
	for b.Loop() {
		result, err := k8smanifest.VerifyResource(obj, vo)
		if err != nil || !result.Verified {
			b.Fatal(result, err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	obj := object(b, sealed(b, texts["kyverno.io, with comments"]))
	v := verifier(b, workflow())
	b.ReportAllocs()
	for b.Loop() {
		doc, err := exception.FromObject(obj.Object)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := v.Verify(doc, time.Now()); err != nil {
			b.Fatal(err)
		}
	}
}
