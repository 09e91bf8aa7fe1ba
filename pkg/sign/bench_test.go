package sign_test

import (
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/test/expect"
)

const benchmarked = 100

// BenchmarkSign100 signs a hundred manifests like polex: one certificate, parallel uploads.
func BenchmarkSign100(b *testing.B) {
	f := shared(b)
	docs := batch(b, benchmarked)
	for b.Loop() {
		expect.Value(f.keyless(b, f.config()).Seal(b.Context(), docs, time.Now()))(b)
	}
	perManifest(b)
}

// BenchmarkSignOneByOne signs the same hundred like a shell loop: a certificate for each, one after
// the other.
func BenchmarkSignOneByOne(b *testing.B) {
	f := shared(b)
	docs := batch(b, benchmarked)
	config := sign.Config{RekorURL: f.RekorURL, Root: f.root, Concurrency: 1}
	for b.Loop() {
		for _, doc := range docs {
			expect.Value(f.keyless(b, config).Seal(b.Context(), []*exception.Document{doc}, time.Now()))(b)
		}
	}
	perManifest(b)
}

func perManifest(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchmarked), "ns/manifest")
}
