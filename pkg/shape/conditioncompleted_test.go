package shape_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

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
