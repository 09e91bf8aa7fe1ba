package kyverno_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/must"
)

// large are documents of up to 1.5 MiB, the limit of the API server, that cause a lot of work.
func large() map[string]string {
	list := func(n int, item string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	conditions := func(part string) string {
		expression := strings.Trim(strings.Repeat(part, 10_240/len(part)), "&|")
		return conditional("[" + strings.Repeat(fmt.Sprintf("{name: a, expression: %q},", expression), 64) + "]")
	}
	labels := ""
	for i := range 4000 {
		labels += fmt.Sprintf("'*%d%s/metadata*': 'k*',", i, strings.Repeat("?", 200))
	}
	short := ""
	for i := range 20_000 {
		short += fmt.Sprintf("a%d: b,", i)
	}
	const alternatives = "(object.kind=='a'||object.metadata.namespace=='b'||object.metadata.name=='c'||object.metadata.name>'c'||object.metadata.namespace>'b'||object.kind>'a'||true)"
	hard := "'*" + strings.Repeat("?", 250) + "*p'"
	nested := strings.Repeat("(", 15) + strings.TrimSuffix(strings.Repeat("a&&", 3400), "&&") + strings.Repeat(")", 15)
	return map[string]string{
		"long names":      matching("{any: [{resources: {kinds: [Pod], names: " + list(6000, hard) + "}}]}"),
		"short names":     matching("{any: [{resources: {names: " + list(80_000, "'*p*????????'") + "}}]}"),
		"namespaces":      matching("{any: [{resources: {kinds: [Pod], namespaces: " + list(6000, hard) + "}}]}"),
		"kinds":           matching("{any: [{resources: {kinds: " + list(80_000, "'*/v1/*e*/?'") + "}}]}"),
		"a kind of parts": matching("{any: [{resources: {kinds: ['" + strings.Repeat("*/", 700_000) + "']}}]}"),
		"a long kind":     matching("{any: [{resources: {kinds: ['" + strings.Repeat("*?", 700_000) + "']}}]}"),
		"a long name":     matching("{any: [{resources: {kinds: [Pod], names: ['" + strings.Repeat("*?", 700_000) + "']}}]}"),
		"labels":          matching("{any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {" + labels + "}}}}]}"),
		"short labels":    matching("{any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {" + short + "}}}}]}"),
		"filters":         matching("{any: " + list(20_000, "{resources: {names: ['*?p*a*b'], kinds: ['*?*']}}") + "}"),
		"short policies":  from(strings.Repeat(", {policyName: a}", 20_000)),
		"some symbols":    conditional("[" + strings.Repeat(fmt.Sprintf("{name: a, expression: %q},", strings.Repeat("+", 1600)), 64) + "]"),
		"policies":        from(strings.Repeat(", {policyName: "+hard+"}", 5000)),
		"and":             conditions("a&&"),
		"or":              conditions("a||"),
		"symbols":         conditions("+"),
		"alternatives":    conditions(alternatives + "&&"),
		"a list":          conditions("object.metadata.name in ['a'" + strings.Repeat(",'*'", 2540) + "]"),
		"patterns":        conditions("object.metadata.name.contains('" + strings.Repeat("*?", 90) + "')||"),
		"fields":          conditions("object."),
		"ternaries":       conditions("a?b:"),
		"parentheses":     conditional("[" + strings.Repeat(fmt.Sprintf("{name: a, expression: %q},", nested), 64) + "]"),
	}
}

// stored is a document as the guard reads it from the API server, without the limits for files.
func stored(t testing.TB, text string) *kyverno.Exception {
	t.Helper()
	var object map[string]any
	must.Do(t, yaml.Unmarshal([]byte(text), &object))
	doc := must.Get(exception.FromObject(object))(t)
	return kyverno.Read(doc)
}

func BenchmarkReachesGuard(b *testing.B) {
	for name, text := range large() {
		b.Run(name, func(b *testing.B) {
			e := stored(b, text)
			for b.Loop() {
				e.ReachesGuard(kyverno.Guard{})
			}
		})
	}
}

// TestWork measures the work. An exception beyond the limit reaches the guard and names this reason. Each of these
// would cause more work if a part of it were not counted. Real exceptions cause little.
func TestWork(t *testing.T) {
	within := []string{"long names", "namespaces", "labels", "a long kind", "a long name", "a kind of parts", "patterns"}
	for name, text := range large() {
		e := stored(t, text)
		work, said := kyverno.WorkOf(e, kyverno.Guard{}), fmt.Sprint(e.ReachesGuard(kyverno.Guard{}).Ways())
		if isLong := strings.Contains(said, "too long to check"); isLong != (work > kyverno.MaxWork) || isLong == slices.Contains(within, name) {
			t.Errorf("%s: it takes %d, and %.200s", name, work, said)
		}
	}
	names := strings.TrimSuffix(strings.Repeat("'some-application-of-ours-*',", 300), ",")
	condition := "object != null && has(object.metadata) && object.kind in ['Deployment', 'StatefulSet'] && object.metadata.namespace.startsWith('team-') && object.metadata.name.matches('^web-.*$')"
	for _, text := range []string{
		everyField,
		matching("{any: [{resources: {kinds: [Pod, Deployment], names: [" + names + "], namespaces: [" + names + "]}}]}"),
		conditional("[" + strings.Repeat(fmt.Sprintf("{name: a, expression: %q},", condition), 10) + "]"),
	} {
		e := stored(t, text)
		if work := kyverno.WorkOf(e, kyverno.Guard{}); work > kyverno.MaxWork/10 || e.ReachesGuard(kyverno.Guard{}).Reaches() {
			t.Errorf("%.300s…: it takes %d of %d, and %v", text, work, kyverno.MaxWork, e.ReachesGuard(kyverno.Guard{}).Ways())
		}
	}
}
