package shape_test

import (
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
)

// BenchmarkCheck: conditions are compiled and tried, a match is only read.
func BenchmarkCheck(b *testing.B) {
	for name, source := range map[string]string{"kyverno.io": legacy, "policies.kyverno.io": policies} {
		b.Run(name, func(b *testing.B) {
			checker, err := shape.New(shape.Config{})
			if err != nil {
				b.Fatal(err)
			}
			d := change{of: source}.document(b)
			for b.Loop() {
				if found := checker.Check(d, now); found != nil {
					b.Fatal(found)
				}
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := shape.New(shape.Config{}); err != nil {
			b.Fatal(err)
		}
	}
}
