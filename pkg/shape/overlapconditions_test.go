package shape_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestOverlapsOfConditionsByExample has conditions with different texts, and the resource for which both are true.
func TestOverlapsOfConditionsByExample(t *testing.T) {
	const web = "object.metadata.name == 'web' && object.metadata.namespace == 'team-a'"
	const same = sameConditions
	for _, tc := range []struct{ one, two, want string }{
		{web, "object.metadata.namespace == 'team-a' && object.metadata.name == 'web'", same},
		{web, "(object.metadata.name=='web' )", same},
		{"object.metadata.name == 'web' ; object.kind == 'Deployment'", "object.kind == 'Deployment' ; object.metadata.name == 'web'", same},
		{"object.metadata.name == 'web' ; object.kind == 'Deployment'", "a ; object.metadata.name == 'web' ; object.kind == 'Deployment'", same},
		{"object.metadata.name == 'web' ; object.kind == 'Deployment'", "object.metadata.name == 'web'", same},
		{"object.metadata.name == 'web' ; object.kind == 'Deployment'", "object.metadata.name == 'api'", ""},
		{"object.metadata.name == 'web' ; object.kind == 'Deployment'", "object.metadata.name == 'web' ; object.kind == 'Service'", ""},
		{"object.metadata.name == 'web' && object.spec.replicas == 2", "object.metadata.name == 'web'", same},
		{web + " && object.spec.x in ['a']", "(object.metadata.name == \"web\") && object.metadata.namespace == 'team-a'", ""},
		{web + " && request.operation == 'UPDATE'", "object.metadata.namespace == 'team-a' && request.operation == 'UPDATE'", same},
		{web, "object != null && has(object.metadata) && has(object.metadata.namespace) && (object.apiVersion == 'apps/v1' && object.kind == 'Deployment' && object.metadata.name == 'web' || object.apiVersion == 'v1' && object.kind == 'Service')", "Deployment team-a/web"},
		{"object.apiVersion == 'v1' && object.kind == 'Pod'", "object.kind == 'Pod' && object.apiVersion == 'example.com/v1'", ""},
		{"object.kind == 'Namespace' && object.metadata.namespace == 'web'", "object.kind == 'Namespace' && object.metadata.name == 'web'", ""},
		{"object.kind == 'ClusterRole' && object.metadata.namespace == 'web'", "object.kind == 'ClusterRole' && request.namespace == 'web' && request.name == 'a'", ""},
		{"object.kind == 'Deployment' && object.metadata.name == 'w*'", "object.kind == 'Deployment' && object.metadata.name == 'web'", ""},
		{"object.kind == 'Pod' && object.metadata.labels.app == 'a'", "object.kind == 'Pod' && object.metadata.labels['app'] == 'b'", ""},
		{"object.kind == 'Pod' && object.metadata.labels.app == 'a' && object.metadata.labels.app == 'b'", "object.kind == 'Pod' && object.metadata.name == 'b'", ""},
		{web, "object.metadata.name in ['api', 'web'] && object.kind == 'StatefulSet'", "StatefulSet team-a/web"},
		{web, "object.metadata.name == 'web' && 'app' in object.metadata.labels && object.metadata.labels.app.startsWith('x')", "Deployment team-a/web"},
		{web, "request.name == 'web' && request.namespace == 'team-a' && request.kind.kind == 'CronJob'", "CronJob team-a/web"},
		{web, "[request.operation == 'DELETE' ? oldObject : object].exists(it, (it.kind == 'StatefulSet' || it.kind == 'Pod') && it.metadata.name == 'web')", "StatefulSet team-a/web"},
		{web, "object.metadata.name == 'web' && request.userInfo.username == 'alice'", "Deployment team-a/web"},
		{"object.kind == 'Deployment' ; object.metadata.name.startsWith('web-')", "object.kind == 'Deployment' ; object.metadata.name.endsWith('-db')", "Deployment web-any-db"},
		{"object.kind == 'Deployment' ; object.metadata.name == 'web-1'", "object.kind == 'Deployment' ; object.metadata.name.contains('b-')", "Deployment web-1"},
		{"object.kind == 'Deployment' ; object.metadata.labels.app == 'web'", "object.kind == 'Deployment' ; object.metadata.labels.tier == 'gold'", "Deployment any"},

		// Conditions without a common resource, or without a known one.
		{web + " && request.operation == 'UPDATE'", "object.metadata.name == 'web' && request.operation in ['UPDATE', 'DELETE']", ""},
		{"[request.operation == 'DELETE' ? oldObject : object].exists(it, it.metadata.name == 'web')", "request.operation == 'DELETE' && oldObject.metadata.name == 'web'", ""},
		{"object.kind == 'ClusterRole' && object.metadata.name == 'web'", "object.metadata.name == 'web' && !has(object.metadata.namespace)", ""},
		{web, "object.metadata.name == 'web' && object.apiVersion == 'example.com/v1'", ""},
		{web, "object.metadata.name == 'web' && request.operation == 'CREATE'", ""},
		{web, "object.metadata.name == 'web' && namespaceObject.metadata.labels.tier == 'gold'", ""},
		{web, "object.metadata.name == 'web' && object.metadata.?labels.app.orValue('') == 'x'", "Deployment team-a/web"},
		{web, "object.metadata['name'] == 'web' && has(object.metadata.labels) && object.metadata.labels['a.b/c'] == 'd'", ""},
		{web, "object.metadata.name == 'web' && object.metadata.namespace == 'team-b'", ""},
		{web, "object.metadata.name == 'web' && object.metadata.namespace != 'team-a'", ""},
		{web, "object.metadata.name == 'api' && object.metadata.namespace == 'team-a'", ""},
		{web, "object.metadata.name == 'web' && object.spec.replicas == 2", ""},
		{web, "object.metadata.name == 'web' && object.metadata.uid == 'x'", ""},
		{web, "object.metadata.name == 'web' && object.metadata.namespace = 'team-a'", ""},
		{web, "object.metadata.name == 'web' && quantity('1Gi').isGreaterThan(quantity('1Mi'))", ""},
		{"object.kind == 'Deployment' ; object.metadata.name.startsWith('web-')", "object.kind == 'Deployment' ; object.metadata.name.startsWith('api-')", ""},
		{"object.kind == 'Deployment' ; object.metadata.labels.app == 'web'", "object.kind == 'Deployment' ; object.metadata.labels.app == 'api'", ""},
		{web + " && request.userInfo.username == 'bob'", "object.metadata.name == 'web' && request.userInfo.username == 'alice'", ""},
		{web + " && request.userInfo.username == 'bob'", "object.metadata.name == 'web' && !(request.userInfo.username == 'bob')", ""},
		{web, "request.operation == 'DELETE' && oldObject.metadata.name == 'web'", ""},
		{web + " && request.operation == 'UPDATE'", "object.metadata.name == 'web' && request.operation == 'CREATE'", ""},
	} {
		one := conditional("one", validating, strings.Split(tc.one, " ; ")...)
		two := conditional("two", validating, strings.Split(tc.two, " ; ")...)
		overlap(t, tc.one+"\n"+tc.two, one, two, tc.want)
	}
}

// TestOverlapsAreTrue evaluates the conditions of overlapping exceptions on many kinds of
// resources: both must exempt one of them.
func TestOverlapsAreTrue(t *testing.T) {
	var resources strings.Builder
	for _, kind := range []string{"apps/v1/Deployment", "example.com/v1/Deployment", "v1/Pod", "rbac.authorization.k8s.io/v1/ClusterRole", "v1/Namespace"} {
		version, name := kind[:strings.LastIndex(kind, "/")], kind[strings.LastIndex(kind, "/")+1:]
		for _, namespace := range []string{"team-a", "team-b"} {
			place := ", namespace: " + namespace
			if name == "ClusterRole" || name == "Namespace" {
				place = ""
			}
			for _, called := range []string{"web", "we-x", "api", "team-a"} {
				fmt.Fprintf(&resources, "---\napiVersion: %s\nkind: %s\nmetadata: {name: %s%s, labels: {app: x, tier: z}}\n", version, name, called, place)
			}
		}
	}
	env, objects := evaluator(t), documents(resources.String())
	parts := []string{
		"object.kind == 'Deployment'", "object.kind in ['Pod', 'ClusterRole']", "object.kind == 'Namespace'", "object.apiVersion == 'apps/v1'", "object.apiVersion == 'v1'", "request.kind.kind.startsWith('Dep')",
		"object.metadata.name == 'web'", "request.name.startsWith('we')", "object.metadata.name.endsWith('-x')", "object.metadata.name in ['api', 'team-a']",
		"object.metadata.namespace == 'team-a'", "request.namespace.startsWith('team-')", "has(object.metadata.namespace)", "has(object.metadata.labels)", "object != null",
		"object.metadata.labels.app == 'x'", "object.metadata.labels['app'].startsWith('x')", "object.metadata.labels.tier == 'z'", "'app' in object.metadata.labels",
		"object.metadata.name != 'web'", "!has(object.metadata.namespace)", "(object.kind == 'Pod' || object.metadata.name == 'web')", "(object.metadata.name == 'api' && object.kind == 'Pod' || object.metadata.name == 'web')",
	}
	type one struct {
		text    string
		exempts []exception.Identity
	}
	var all []one
	exempts := func(condition string) (found []exception.Identity) {
		checked, issues := env.Compile(condition)
		must.That(t, issues.Err() == nil, "%v", issues.Err())
		program := must.Get(env.Program(checked))(t)
		for _, d := range objects {
			met := func(variables map[string]any) bool { return allTrue([]cel.Program{program}, variables) }
			if slices.ContainsFunc(completions(d), met) {
				found = append(found, d.Identity())
			}
		}
		return found
	}
	for i, a := range parts {
		for _, b := range parts[i:] {
			if found := exempts(a + " && " + b); len(found) > 0 {
				all = append(all, one{conditional(fmt.Sprintf("e%d", len(all)), validating, a+" && "+b), found})
			}
		}
	}
	overlapping := 0
	for i, a := range all {
		for j, b := range all[:i] {
			if (i+j)%5 > 0 {
				continue // some are enough
			}
			set := shape.Set{}
			added(&set, a.text)
			if len(added(&set, b.text)) == 0 {
				continue
			}
			overlapping++
			if !slices.ContainsFunc(a.exempts, func(id exception.Identity) bool { return slices.Contains(b.exempts, id) }) {
				t.Errorf("%s\n%s\ndo not overlap", a.text, b.text)
			}
		}
	}
	expect.AtLeast(t, "overlaps", 500, overlapping)
}

// TestExemptedMissesNothing fills in the values that files do not have, in every way that the
// conditions could distinguish. It evaluates the conditions with another evaluator. If one of these
// requests is exempt, polex must report it, or report that files cannot tell.
func TestExemptedMissesNothing(t *testing.T) {
	env := evaluator(t)
	known, exempt := 0, 0
	for _, tc := range exemptingCases {
		conditions := tc.list()
		programs := make([]cel.Program, 0, len(conditions))
		for _, c := range conditions {
			checked, issues := env.Compile(c)
			if issues.Err() != nil {
				continue // additions of Kubernetes
			}
			program := must.Get(env.Program(checked))(t)
			programs = append(programs, program)
		}
		if len(programs) < len(conditions) {
			continue
		}
		found := exempted(t, town, conditional("e", validating, conditions...))
		if !found.Known {
			continue
		}
		known++
		ours := map[exception.Identity]bool{}
		for _, id := range found.Resources {
			ours[id] = true
		}
		for _, d := range documents(strings.Join(townObjects, "---\n")) {
			for _, variables := range completions(d) {
				if !allTrue(programs, variables) {
					continue
				}
				exempt++
				if !ours[d.Identity()] {
					t.Errorf("%q is true of %s, which polex does not count: %v", conditions, d.Identity(), variables)
					break
				}
			}
		}
	}
	expect.That(t, known >= 15 && exempt != 0,
		"%d of %d cases are known, %d answers were true", known, len(exemptingCases), exempt)
}

// evaluator returns a language that evaluates conditions, without the functions of Kubernetes.
func evaluator(t *testing.T) *cel.Env {
	t.Helper()
	options := []cel.EnvOption{cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true), ext.Strings(), ext.Lists(), ext.TwoVarComprehensions()}
	for _, name := range []string{"object", "oldObject", "request", "namespaceObject"} {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	return must.Get(cel.NewEnv(options...))(t)
}

func allTrue(programs []cel.Program, variables map[string]any) bool {
	for _, p := range programs {
		if value, _, err := p.Eval(variables); err != nil || value.Value() != true {
			return false
		}
	}
	return true
}

// completions returns the possible requests for an object of a file.
func completions(d *exception.Document) []map[string]any {
	id := d.Identity()
	isNamespace := id.Kind == "Namespace" && id.Group == ""
	namespaces := []string{id.Namespace}
	if id.Namespace == "" && !isNamespace && id.Kind != "ClusterRole" {
		namespaces = []string{"", "team-a", "team-b"}
	}
	var all []map[string]any
	for _, namespace := range namespaces {
		for _, user := range []string{"alice", "bob"} {
			for _, tier := range []string{"", "gold", "silver"} {
				for _, operation := range []string{"CREATE", "UPDATE", "DELETE"} {
					for _, absent := range []any{nil, map[string]any{}} {
						all = append(all, completion{namespace, user, tier, operation, absent}.of(d))
					}
				}
			}
		}
	}
	return all
}

type completion struct {
	namespace, user, tier, operation string
	absent                           any // the value for a missing object
}

func (c completion) of(d *exception.Document) map[string]any {
	id := d.Identity()
	object := d.Object()
	metadata := object["metadata"].(map[string]any)
	metadata["uid"], metadata["creationTimestamp"] = "0b61", "2026-01-02T03:04:05Z"
	object["status"] = map[string]any{"loadBalancer": map[string]any{}}
	kind := map[string]any{"group": id.Group, "version": d.Version(), "kind": id.Kind}
	request := map[string]any{
		"kind": kind, "requestKind": kind, "name": id.Name, "operation": c.operation, "dryRun": c.user == "alice", "options": map[string]any{},
		"resource": map[string]any{"group": id.Group, "version": d.Version(), "resource": strings.ToLower(id.Kind) + "s"},
		"userInfo": map[string]any{"username": c.user, "groups": []any{"ops", "system:authenticated"}},
	}
	if c.namespace != "" {
		metadata["namespace"], request["namespace"] = c.namespace, c.namespace
	}
	variables := map[string]any{"object": object, "oldObject": maps.Clone(object), "request": request, "namespaceObject": nil}
	home := c.namespace
	if id.Kind == "Namespace" && id.Group == "" {
		home, request["namespace"] = id.Name, id.Name
	}
	if home != "" && (id.Kind != "Namespace" || id.Group != "" || c.operation != "CREATE") {
		labels := map[string]any{"kubernetes.io/metadata.name": home}
		about := map[string]any{"name": home, "labels": labels}
		if home == "team-a" {
			labels["tier"] = "gold"
		} else if c.tier != "" {
			labels["tier"], labels["x"], about["annotations"] = c.tier, "y", map[string]any{"a": "b"}
		}
		variables["namespaceObject"] = map[string]any{"metadata": about, "status": map[string]any{"phase": "Active"}}
	}
	switch c.operation {
	case "CREATE":
		variables["oldObject"] = c.absent
	case "DELETE":
		variables["object"] = c.absent
	}
	request["object"], request["oldObject"] = variables["object"], variables["oldObject"]
	for _, name := range []string{"object", "oldObject"} {
		if fields, ok := request[name].(map[string]any); ok && len(fields) == 0 {
			request[name] = nil
		}
	}
	return variables
}
