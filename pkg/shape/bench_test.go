package shape_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// BenchmarkCheck: a match is only read; conditions are compiled and evaluated. No text repeats.
func BenchmarkCheck(b *testing.B) {
	const texts = 1000
	about := "object.metadata.name == 'web-%[1]d' && object.metadata.namespace == 'team-%[1]d'"
	for _, bench := range []struct{ name, of, old, new string }{
		{"kyverno.io", legacy, "[web]", "[web-%d]"},
		{"policies.kyverno.io", policies, goodCondition, about},
		{"policies.kyverno.io, with a loop", policies, goodCondition, quote("[request.operation == 'DELETE' ? oldObject : object].exists(it, it.kind == 'Deployment') && " + about)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			docs := make([]*exception.Document, texts)
			for i := range docs {
				docs[i] = change{of: bench.of, old: bench.old, new: fmt.Sprintf(bench.new, i)}.document(b)
			}
			checker := must.Get(shape.New(shape.Config{}))(b)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				expect.Empty(b, "findings", checker.Check(docs[i%texts], now))
			}
		})
	}
}

// written parses the exceptions that a function writes.
func written(b *testing.B, exceptions int, write func(i int) string) []*exception.Document {
	b.Helper()
	docs := make([]*exception.Document, exceptions)
	for i := range docs {
		docs[i] = must.Get(exception.Parse([]byte(write(i)), "file.yaml"))(b)
	}
	return docs
}

// compared measures a check of exceptions and their comparison with each other, which find nothing.
func compared(b *testing.B, docs []*exception.Document, check func(*exception.Document) []shape.Finding) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		var set shape.Set
		for _, d := range docs {
			expect.Empty(b, "findings", append(check(d), set.Add(d)...))
		}
	}
	b.ReportMetric(float64(len(docs))*float64(b.N)/b.Elapsed().Seconds(), "exceptions/s")
}

func unchecked(*exception.Document) []shape.Finding { return nil }

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		must.Get(shape.New(shape.Config{}))(b)
	}
}

// BenchmarkConditionsOfOnePolicy compares 1,000 exceptions from one policy of policies.kyverno.io with each other.
func BenchmarkConditionsOfOnePolicy(b *testing.B) {
	for name, conditions := range map[string][]string{
		"names":    {"object.metadata.namespace == 'team-a' && object.metadata.name == 'web-%d'"},
		"parts":    {"object.kind == 'Deployment'", "object.metadata.namespace == 'team-a'", "object.metadata.name == 'web-%d'"},
		"prefixes": {"object.metadata.namespace == 'team-a' && object.metadata.name.startsWith('web-%d-')"},
		"labels":   {"object.metadata.labels.app == 'web-%d'"},
	} {
		last := len(conditions) - 1
		docs := written(b, 1000, func(i int) string {
			return conditional(fmt.Sprintf("e-%d", i), validating, append(slices.Clone(conditions[:last]), fmt.Sprintf(conditions[last], i))...)
		})
		b.Run(name, func(b *testing.B) { compared(b, docs, unchecked) })
	}
}

// BenchmarkExempted evaluates match conditions on 10,000 Deployments. Conditions with a kind, a
// name or a namespace and without an "or" use the index.
func BenchmarkExempted(b *testing.B) {
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: web-%d, namespace: team-%d, labels: {app: web}}, spec: {replicas: 2, template: {spec: {containers: [{name: a, image: registry.example/a}]}}}}\n", i, i%100)
	}
	checker := must.Get(shape.New(shape.Config{Resources: shape.ReadResources(documents(text.String()))}))(b)
	for name, condition := range map[string]string{
		"name":      "object.metadata.name == 'web-77' && object.metadata.namespace == 'team-77'",
		"namespace": "object.metadata.namespace == 'team-77' && object.metadata.name.startsWith('web-')",
		"label":     "has(object.metadata.labels) && 'app' in object.metadata.labels && object.metadata.labels.app == 'web'",
		"sender":    "request.userInfo.username == 'alice' && object.metadata.labels.app == 'web'",
		"images":    "object.spec.template.spec.containers.all(c, c.image.startsWith('registry.example/'))",
	} {
		d := must.Get(exception.Parse([]byte(conditional("e", validating, condition)), "file.yaml"))(b)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				found := checker.Exempted(d)
				must.That(b, found.Count != 0 && !found.Cut, "%d, cut: %v", found.Count, found.Cut)
			}
		})
	}
}

// BenchmarkRepository runs all checks of a pull request on 10,000 exceptions from 100 policies for
// 5,000 Deployments: each alone, and compared with the others.
func BenchmarkRepository(b *testing.B) {
	const policies, deployments = 100, 5000
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
	checker := must.Get(shape.New(config))(b)
	docs := written(b, 10_000, func(i int) string {
		return strings.NewReplacer("web-probes", fmt.Sprintf("e-%d", i), "require-probes", fmt.Sprintf("policy-%d", i%policies),
			"[web]", fmt.Sprintf("[web-%d]", i/2), "[team-a]", fmt.Sprintf("[team-%d]", i/2%100)).Replace(legacy)
	})
	compared(b, docs, func(d *exception.Document) []shape.Finding { return checker.Check(d, now) })
}

// BenchmarkOnePolicy has 10,000 exceptions from one rule for the same kind and namespace. Their
// names are patterns, so the index does not help.
func BenchmarkOnePolicy(b *testing.B) {
	docs := written(b, 10_000, func(i int) string {
		return strings.NewReplacer("web-probes", fmt.Sprintf("e-%d", i), "[web]", fmt.Sprintf("['web-%d-*']", i)).Replace(legacy)
	})
	compared(b, docs, unchecked)
}
