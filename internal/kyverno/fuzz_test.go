package kyverno_test

import (
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"

	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// CEL evaluates the conditions on the guard's objects, for comparison. Only the tests evaluate
// conditions of exceptions here.

func environment(t testing.TB) *cel.Env {
	t.Helper()
	env, err := cel.NewEnv(cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true), ext.Strings(), ext.Sets(), ext.Lists(), ext.TwoVarComprehensions(),
		cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType), cel.Variable("request", cel.DynType), cel.Variable("namespaceObject", cel.DynType))
	must.Do(t, err)
	return env
}

// holds reports whether an expression is true for a request.
type holds func(r resource, operation string) bool

func compiled(env *cel.Env, expression string) (holds, bool) {
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		return nil, false
	}
	program, err := env.Program(ast, cel.CostLimit(100_000))
	if err != nil {
		return nil, false
	}
	return func(r resource, operation string) bool {
		value, _, err := program.Eval(r.variables(operation))
		return err == nil && value == types.True
	}, true
}

// resource is the resource of a request.
type resource struct {
	apiVersion, kind, plural, namespace, name string
	more                                      map[string]any
}

func (r resource) variables(operation string) map[string]any {
	group, version, grouped := strings.Cut(r.apiVersion, "/")
	if !grouped {
		group, version = "", group
	}
	metadata := map[string]any{"labels": map[string]any{"app": "web"}, "annotations": map[string]any{"a": "b"}}
	home := r.namespace
	if r.kind == "Namespace" {
		home = r.name
		metadata["labels"] = map[string]any{"app": "web", "kubernetes.io/metadata.name": r.name}
	} else if r.namespace != "" {
		metadata["namespace"] = r.namespace
	}
	if r.name != "" {
		metadata["name"] = r.name
	}
	var object, old any = map[string]any{"apiVersion": r.apiVersion, "kind": r.kind, "metadata": metadata, "spec": r.more}, nil
	switch operation {
	case "UPDATE":
		old = object
	case "DELETE":
		object, old = nil, object
	}
	kind := map[string]any{"group": group, "version": version, "kind": r.kind}
	plural := map[string]any{"group": group, "version": version, "resource": r.plural}
	request := map[string]any{
		"operation": operation, "kind": kind, "requestKind": kind, "resource": plural, "requestResource": plural, "namespace": home, "name": r.name,
		"object": object, "oldObject": old, "userInfo": map[string]any{"username": "jane", "groups": []any{"a"}}, "dryRun": false,
	}
	maps.DeleteFunc(request, func(_ string, value any) bool { return value == "" }) // the API server omits empty fields
	return map[string]any{
		"object": object, "oldObject": old, "request": request,
		"namespaceObject": map[string]any{"metadata": map[string]any{"name": home, "labels": map[string]any{"kubernetes.io/metadata.name": home, "team": "a"}}},
	}
}

// leavesAlone checks a condition that does not reach the guard. It must not exempt a
// PolicyException with a guarded namespace and name. If it exempts another guarded object, it must
// also exempt the same object with an unguarded kind or namespace.
func leavesAlone(t *testing.T, expression string, is holds) {
	t.Helper()
	policies := map[string]any{"policyRefs": []any{map[string]any{"name": "a"}}, "replicas": 3}
	others := []resource{{apiVersion: "other.example/v1", kind: "Strange", plural: "stranges"}, {apiVersion: "example.org/v1", kind: "Unheard", plural: "unheards"}}
	strangers := []string{"qxzv", "r2d2-jw7"}
	for _, operation := range []string{"CREATE", "UPDATE", "DELETE"} {
		for _, group := range []string{"kyverno.io/v2", "policies.kyverno.io/v1"} {
			for _, namespace := range []string{"kyverno", "polex-system", "team-a"} {
				for _, name := range []string{"kyverno", "polex-system", "web"} {
					r := resource{group, "PolicyException", "policyexceptions", namespace, name, policies}
					if !is(r, operation) {
						continue
					}
					must.That(t, namespace == "team-a" || name == "web", "%s\nis true of %+v", expression, r)
					for _, other := range others {
						other.namespace, other.name, other.more = namespace, name, policies
						must.That(t, is(other, operation), "%s\nis true of %+v, and not of %+v", expression, r, other)
					}
				}
			}
		}
		for _, namespace := range []string{"kyverno", "polex-system"} {
			inside := []resource{{"v1", "Pod", "pods", namespace, "web", policies}, {"apps/v1", "Deployment", "deployments", namespace, "kyverno", policies}, {"v1", "Namespace", "namespaces", "", namespace, nil}}
			for _, r := range inside {
				for _, stranger := range strangers {
					other := r
					if r.kind == "Namespace" {
						other.name = stranger
					} else {
						other.namespace = stranger
					}
					must.That(t, !is(r, operation) || is(other, operation),
						"%s\nis true of %+v, and not of %+v", expression, r, other)
				}
			}
		}
	}
}

// FuzzConditions: CEL agrees that a condition does not reach the guard.
func FuzzConditions(f *testing.F) {
	for _, expression := range plainly {
		f.Add(expression)
	}
	for _, expressions := range hidden {
		for _, expression := range expressions {
			f.Add(expression)
		}
	}
	made := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		f.Add(condition(made, 3))
	}
	env := environment(f)
	f.Fuzz(func(t *testing.T, expression string) {
		if len(expression) > 2000 || strings.ContainsRune(expression, '\uFFFD') || reachesBy(t, expression) {
			return
		}
		if is, ok := compiled(env, expression); ok {
			leavesAlone(t, expression, is)
		}
	})
}

// TestMadeConditions does the same for conditions of known and unknown forms, and checks that both occurred.
func TestMadeConditions(t *testing.T) {
	env, made := environment(t), rand.New(rand.NewPCG(3, 4))
	clear, reach := 0, 0
	for range 10_000 {
		expression := condition(made, 3)
		if reachesBy(t, expression) {
			reach++
			continue
		}
		is, ok := compiled(env, expression)
		if !ok {
			continue
		}
		clear++
		leavesAlone(t, expression, is)
	}
	expect.That(t, clear >= 300 && reach >= 300, "%d reach, and %d do not", reach, clear)
}

// condition generates a condition with a maximum nesting.
func condition(r *rand.Rand, deep int) string {
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	if deep > 0 && r.IntN(3) > 0 {
		a, b := condition(r, deep-1), condition(r, deep-1)
		switch r.IntN(10) {
		case 0:
			return a + " || " + b
		case 1:
			return "(" + a + ") ? " + b + " : " + condition(r, deep-1)
		case 2:
			return "(" + a + ")"
		case 3:
			return "!(" + a + ")"
		case 4:
			return "[request.operation == 'DELETE' ? oldObject : object].exists(it, " + strings.NewReplacer("object.", "it.", "oldObject.", "it.").Replace(a) + ")"
		case 5:
			return "(" + a + " || " + b + ")"
		case 6:
			return a + pick(" && //", "\n&&", "&&") + "\n" + b
		}
		return a + " && " + b
	}
	variable := pick("object", "object", "object", "object", "object", "object", "oldObject", "request.object", "it")
	field := pick("kind", "kind", "metadata.namespace", "metadata.namespace", "metadata.name", "apiVersion", "metadata.labels['app']", "metadata.labels['kubernetes.io/metadata.name']",
		"metadata.?namespace.orValue('')", "metadata.?namespace.orValue('team-a')", "metadata.?name.orValue('kyv')", "?kind.orValue('')", "metadata.labels.?app.orValue('')", "spec.replicas", "spec.policyRefs[0].name", "metadata['name']")
	value := variable + "." + field
	if r.IntN(4) == 0 {
		value = pick("request.kind.kind", "request.resource.resource", "request.namespace", "request.name", "request.kind.group", "namespaceObject.metadata.name", "namespaceObject.metadata.labels['team']",
			"namespaceObject.metadata.labels['kubernetes.io/metadata.name']", "request.operation", "request.userInfo.username")
	}
	text := func() string {
		t := pick("Pod", "Pod", "web", "web", "team-a", "team-a", "team-a", "PolicyException", "Namespace", "policyexceptions", "pods", "kyverno", "polex-system", "team-a", "web", "kyv", "Pol", "icyE", "v1", "kyverno.io/v2", "apps/v1", "k", "a", "")
		return pick("'"+t+"'", "'"+t+"'", "'"+t+"'", "'"+t+"'", "'"+t+"'", "'"+t+"'", `"`+t+`"`, "r'"+t+"'", "'''"+t+"'''", "('"+t+"' + '')")
	}
	switch r.IntN(20) {
	case 0:
		return text() + " == " + value
	case 1, 2:
		return value + " in [" + text() + ", " + text() + "]"
	case 3:
		return value + pick(".startsWith(", ".endsWith(", ".contains(") + text() + ")"
	case 4:
		return value + ".matches('" + pick("^team-.*$", "^k.*$", ".*", "^kyvernox*$", "^(a|kyverno)$", "^P.*n$", "^[.]$", "kyv") + "')"
	case 5:
		return value + pick(" != ", " < ", " >= ") + text()
	case 6:
		return "has(" + variable + pick(".metadata.namespace", ".spec", ".spec.policyRefs", ".kind", ".metadata.labels", ".metadata", ".metadata.labels.app") + ")"
	case 7:
		return pick("true", "object != null", "oldObject == null", "namespaceObject != null", "'app' in object.metadata.labels", "'kubernetes.io/metadata.name' in object.metadata.labels", "'spec' in object", "false")
	case 8:
		return pick("[object]", "[oldObject]", "[object.metadata]", "[request]", "[1]") + ".exists(" + pick("x", "object", "it") + ", " + pick("x", "object", "it") + "." + pick("kind", "namespace", "metadata.namespace", "name") + " == " + text() + ")"
	case 9:
		return "size(" + value + ") " + pick("> 3", "== 7")
	case 10, 11:
		both := func() string {
			return "'" + pick("team-a", "team-a", "kyverno", "polex-system", "Pod", "") + pick("/", "/", "/", "", "//") + pick("web", "web", "kyverno", "team-a/x", "") + "'"
		}
		sum := pick(value, variable+".metadata.namespace", "request.namespace") + " + " + pick("'/'", "'/'", "'/'", "''") + " + " + pick(value, variable+".metadata.name", "object.metadata.labels['app']")
		return pick("("+sum+")", sum) + pick(" in ["+both()+", "+both()+"]", " == "+both())
	}
	return value + " == " + text()
}
