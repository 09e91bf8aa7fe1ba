package shape_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
)

// BenchmarkRepository runs all checks of a pull request on 10,000 exceptions from 100 policies for
// 5,000 Deployments: each alone, and compared with the others.
func BenchmarkRepository(b *testing.B) {
	const exceptions, policies, deployments = 10_000, 100, 5000
	var config shape.Config
	var known, objects strings.Builder
	for i := range policies {
		known.WriteString(legacyPolicy("ClusterPolicy", fmt.Sprintf("policy-%d", i), checkRule))
	}
	for i := range deployments {
		objects.WriteString("---\n" + object(fmt.Sprintf("apps/v1/Deployment team-%d/web-%d", i%100, i)))
	}
	config.Policies = shape.ReadPolicies(documents(known.String()))
	config.Resources = shape.ReadResources(documents(objects.String()))
	checker := expect.Value(shape.New(config))(b)
	docs := make([]*exception.Document, exceptions)
	for i := range docs {
		text := strings.NewReplacer("web-probes", fmt.Sprintf("e-%d", i), "require-probes", fmt.Sprintf("policy-%d", i%policies),
			"[web]", fmt.Sprintf("[web-%d]", i/2), "[team-a]", fmt.Sprintf("[team-%d]", i/2%100)).Replace(legacy)
		docs[i] = expect.Value(exception.Parse([]byte(text), "file.yaml"))(b)
	}
	b.ReportAllocs()
	for b.Loop() {
		var set shape.Set
		for _, d := range docs {
			if found := append(checker.Check(d, now), set.Add(d)...); found != nil {
				b.Fatal(found)
			}
		}
	}
	b.ReportMetric(exceptions*float64(b.N)/b.Elapsed().Seconds(), "exceptions/s")
}

// BenchmarkOnePolicy has 10,000 exceptions from one rule for the same kind and namespace. Their
// names are patterns, so the index does not help.
func BenchmarkOnePolicy(b *testing.B) {
	const exceptions = 10_000
	docs := make([]*exception.Document, exceptions)
	for i := range docs {
		text := strings.NewReplacer("web-probes", fmt.Sprintf("e-%d", i), "[web]", fmt.Sprintf("['web-%d-*']", i)).Replace(legacy)
		docs[i] = expect.Value(exception.Parse([]byte(text), "file.yaml"))(b)
	}
	b.ReportAllocs()
	for b.Loop() {
		var set shape.Set
		for _, d := range docs {
			if found := set.Add(d); found != nil {
				b.Fatal(found)
			}
		}
	}
	b.ReportMetric(exceptions*float64(b.N)/b.Elapsed().Seconds(), "exceptions/s")
}
