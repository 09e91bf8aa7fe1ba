package celpeer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/must"
)

// The parts of generated conditions. Some compare the namespace in forms that polex reads, some in
// forms that look like these and are wider, and some compare something else.
var conditionParts = []string{
	"object.metadata.namespace == 'team-a'", "'team-a' == object.metadata.namespace", "object.metadata.namespace in ['team-a', 'team-b']", "object.metadata.namespace.startsWith('team-')",
	"object.metadata.namespace.endsWith('-a')", "object.metadata.namespace.contains('team')", "object.metadata.namespace.matches('^team-.*$')", "object.metadata.namespace.matches('^team.a$')",
	"object.metadata.?namespace.orValue('') == 'team-a'", "object.metadata.?namespace.orValue('team-a') == 'team-a'", "object.?metadata.?namespace.orValue('none') in ['team-a']",
	"object.metadata.namespace + '/' + object.metadata.name in ['team-a/web', 'team-b/api']", "(object.metadata.namespace + '/' + object.metadata.name) == 'team-a/web'",
	"object.metadata.namespace + '/' + object.metadata.labels['app'] == 'team-a/web'", "object.metadata.name + '/' + object.metadata.namespace == 'web/team-a'",
	"request.object.metadata.namespace == 'team-a'", "request.object.metadata.namespace + '/' + object.metadata.name == 'team-a/web'", "object.metadata.namespace + '/' + object.metadata.namespace == 'team-a/team-a'", "namespaceObject.metadata.name == 'team-a'", "request.namespace == 'team-a'", "oldObject.metadata.namespace == 'team-a'",
	"[request.operation == 'DELETE' ? oldObject : object].exists(it, it.metadata.namespace == 'team-a')", "[request.operation == 'DELETE' ? oldObject : object].exists(it, it.metadata.name == 'web')",
	"object.metadata.namespace != 'prod'", "object.metadata.namespace.matches('team-a')", "object.metadata.namespace.matches('.*')", "object.metadata.namespace.contains('')", "object.metadata.namespace == ''",
	"object.metadata.namespace == 'team-*'", "object.metadata.namespace.startsWith('')", "has(object.metadata.namespace)", "size(object.metadata.namespace) > 0", "object.metadata.namespace > 'a'",
	"'team-a' in [object.metadata.namespace, object.metadata.name]", "object.metadata.namespace in ['team-a'] + [object.metadata.namespace]", "object.metadata.labels.namespace == 'team-a'",
	"object.metadata.name == 'web'", "object.metadata.name in ['web', 'api']", "object.kind == 'Pod'", "object.kind == 'Namespace'", "object.kind != 'Pod'", "has(object.metadata.labels) && object.metadata.labels['app'] == 'web'",
	"object.apiVersion == 'v1'", "request.kind.group in ['', 'apps']", "request.kind.version == 'v1'", "request.resource.resource == 'pods'",
	"request.operation == 'CREATE'", "true", "false", "object.spec.x == 1",
}

// generated returns a condition of some parts.
func generated(random *rand.Rand, depth int) string {
	part := func() string { return conditionParts[random.IntN(len(conditionParts))] }
	if depth == 0 {
		return part()
	}
	a, b := generated(random, depth-1), generated(random, random.IntN(depth))
	switch random.IntN(9) {
	case 0:
		return part()
	case 1:
		return "(" + a + ") || (" + b + ")"
	case 2:
		return a + " || " + b
	case 3:
		return "!(" + a + ")"
	case 4:
		return "(" + a + ") ? (" + b + ") : false"
	case 5:
		return "(" + a + ") ? (" + b + ") : (" + part() + ")"
	case 6:
		return "(" + a + ") && (" + b + ")"
	}
	return a + " && " + b
}

// TestBounds: every object for which a generated condition is true, in every operation, is in a namespace that polex
// reads in the condition, unless polex reads none, and matches the filters that polex reads.
func TestBounds(t *testing.T) {
	env := peerEnv(t)
	var inputs []map[string]any
	for _, kind := range []string{"Pod", "Namespace", "Deployment"} {
		for _, name := range []string{"web", "api", "team-a"} {
			for _, namespace := range []string{"team-a", "team-b", "team-ab", "xteam-a", "prod", "a", ""} {
				metadata := map[string]any{"name": name, "labels": map[string]any{"app": name, "namespace": "team-a"}}
				if namespace != "" {
					metadata["namespace"] = namespace
				}
				object := map[string]any{"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": map[string]any{"x": 1}}
				other := map[string]any{"kind": kind, "metadata": map[string]any{"name": "web", "namespace": "team-a"}}
				for operation, pair := range map[string][2]any{"CREATE": {object, nil}, "UPDATE": {object, object}, "DELETE": {nil, object}, "": {object, other}} {
					request := map[string]any{"operation": operation, "namespace": "team-a", "object": object, "kind": map[string]any{"group": "", "version": "v1", "kind": kind}, "resource": map[string]any{"resource": "pods"}}
					if request["namespace"] = namespace; operation == "" { // a mutating policy may change another object
						request["namespace"], request["object"] = "team-a", other
					}
					inputs = append(inputs, map[string]any{"object": pair[0], "oldObject": pair[1], "request": request, "of": namespace, "namespaceObject": map[string]any{"metadata": map[string]any{"name": namespace}}})
				}
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	evaluated, bounded, exempt := 0, 0, 0
	for evaluated < 5000 {
		condition := generated(random, 1+random.IntN(3))
		checked, issues := env.Compile(condition)
		if issues.Err() != nil || !checked.OutputType().IsExactType(cel.BoolType) {
			continue
		}
		evaluated++
		doc, err := exception.FromObject(map[string]any{"apiVersion": "policies.kyverno.io/v1", "kind": "PolicyException", "metadata": map[string]any{"name": "a", "namespace": "b"},
			"spec": map[string]any{"matchConditions": []any{map[string]any{"name": "c", "expression": condition}}}})
		must.Do(t, err)
		bounds, plain := kyverno.Read(doc).Bounds(), kyverno.PlainMatch([]string{condition}).Any
		isBounded := len(bounds) > 0 && !slices.ContainsFunc(bounds, func(f kyverno.Filter) bool { return len(f.Namespaces) == 0 })
		if !isBounded && len(plain) == 0 {
			continue // polex does not read a bound
		}
		if isBounded {
			bounded++
		}
		program, err := env.Program(checked)
		must.Do(t, err)
		for _, input := range inputs {
			if out, _, err := program.Eval(input); err != nil || out != types.True {
				continue
			}
			exempt++
			if len(plain) > 0 && input["object"] != nil && input["request"].(map[string]any)["operation"] != "" && !slices.ContainsFunc(plain, func(f kyverno.Filter) bool { return selects(f, input) }) {
				t.Errorf("%s\nis true for %v, and not in %+v", condition, input["object"], plain)
			}
			if !isBounded {
				continue
			}
			within := slices.ContainsFunc(bounds, func(f kyverno.Filter) bool {
				return slices.ContainsFunc(f.Namespaces, func(n kyverno.Located) bool { return input["of"] != "" && wildcard.Fits(n.Text, input["of"].(string)) })
			})
			if !within {
				t.Errorf("%s\nis true in the namespace %q, %v of %v", condition, input["of"], input["request"].(map[string]any)["operation"], strings.Join(texts(bounds), " "))
			}
		}
	}
	t.Logf("%d conditions, %d of them bounded, true for %d objects", evaluated, bounded, exempt)
	must.That(t, bounded >= 500 && exempt >= 1000, "the test lost its cases")
}

// selects reports whether a filter has the kind, the name and the namespace of an object.
func selects(f kyverno.Filter, input map[string]any) bool {
	object, _ := input["object"].(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	has := func(patterns []kyverno.Located, text any) bool {
		return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p kyverno.Located) bool { return text != nil && wildcard.Fits(p.Text, text.(string)) })
	}
	kinds := len(f.Kinds) == 0 || slices.ContainsFunc(f.Kinds, func(k kyverno.Located) bool {
		return kyverno.ParseKind(k.Text).Takes(wildcard.NewMeter(), "", "v1", object["kind"].(string))
	})
	return kinds && has(f.Named(), metadata["name"]) && has(f.Namespaces, metadata["namespace"])
}

func texts(filters []kyverno.Filter) (all []string) {
	for _, f := range filters {
		all = append(all, kyverno.Texts(f.Namespaces)...)
	}
	return all
}
