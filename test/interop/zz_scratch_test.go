package interop_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

func BenchmarkWarm(b *testing.B) {
	text := sealed(b, texts["kyverno.io, with comments"])
	obj := object(b, text)
	met, now := verifier(b, workflow()), time.Now()
	raw, _ := json.Marshal(obj.Object)
	b.Run("object", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			doc, err := exception.FromObject(obj.Object)
			if err == nil {
				_, err = met.Verify(doc, now)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := exception.Parse(raw, "x"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
