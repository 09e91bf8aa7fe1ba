package guard_test

import (
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/polex-dev/polex/internal/guard"
)

// BenchmarkAdmit measures reviews of a valid exception and of an altered one.
func BenchmarkAdmit(b *testing.B) {
	w := inWorld(b)
	h := handler(b, w.rules(b, guard.Settings{}, nil), guard.Config{})
	honest := w.sealed(b, draft("a", "exceptions", hour, ""), now.Add(-hour/2))
	for name, o := range map[string]object{"honest": honest, "altered": copied(b, honest, func(o object) { annotate(o, "a", "b") })} {
		raw := body(b, request(b, admissionv1.Create, asJSON(b, o), nil))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if response, _ := post(b, h, raw); response == nil || response.Allowed != (name == "honest") {
					b.Fatal(response)
				}
			}
		})
	}
}
