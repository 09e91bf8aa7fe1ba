//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
)

// Two exceptions that say as much as one can without contradicting itself, in
// each version that is served.
const (
	wholeLegacy = `apiVersion: kyverno.io/%s
kind: PolicyException
metadata:
  name: web-probes
  namespace: team-a
  labels: {app: web}
  annotations: {polex.dev/reason: no health endpoint}
spec:
  background: false
  exceptions:
  - policyName: require-probes
    ruleNames: [check, autogen-check]
  match:
    any:
    - resources:
        kinds: [Deployment]
        names: [web]
        namespaces: [team-a]
        operations: [CREATE]
        annotations: {a: b}
        selector: {matchLabels: {app: web}}
        namespaceSelector:
          matchExpressions: [{key: team, operator: In, values: [a]}]
      roles: ["team-a:deployer"]
      clusterRoles: [deployer]
      subjects: [{kind: User, name: alice, apiGroup: rbac.authorization.k8s.io, namespace: x}]
  conditions:
    any:
    - key: "{{ request.object.metadata.name }}"
      operator: Equals
      value: [web, 1, 2.5, {deep: [true]}]
      message: why
  podSecurity:
  - controlName: Capabilities
    images: [registry.example.com/web]
    restrictedField: spec.containers[*].securityContext.capabilities.add
    values: [NET_ADMIN]
`
	wholePolicies = `apiVersion: policies.kyverno.io/%s
kind: PolicyException
metadata:
  name: web-probes
  namespace: team-a
  labels: {app: web}
  annotations: {polex.dev/owner: team-a}
spec:
  policyRefs:
  - name: require-probes
    kind: ValidatingPolicy
  matchConditions:
  - name: web
    expression: object.metadata.name == 'web'
  images: [registry.example.com/web:1]
  allowedValues: [x]
  reportResult: pass
  expiresAt: "2026-12-31T17:00:00Z"
  evaluationMode: Kubernetes
  properties: {reason: no health endpoint, ticket: T-1}
`
)

var served = []struct{ whole, version string }{
	{wholeLegacy, "v2"}, {wholeLegacy, "v2beta1"},
	{wholePolicies, "v1"}, {wholePolicies, "v1beta1"}, {wholePolicies, "v1alpha1"},
}

// grownSamples change the two exceptions in one place each: every value, of
// every type, is taken away or replaced, and every mapping gets a field that it
// does not know.
func grownSamples(t *testing.T) []sample {
	t.Helper()
	var all []sample
	for _, s := range served {
		text := fmt.Sprintf(s.whole, s.version)
		all = append(all, sample{"grown/" + s.version + " as it is", []byte(text)})
		var tree map[string]any
		if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
			t.Fatal(err)
		}
		for _, path := range paths(tree, nil) {
			for what, change := range changes {
				var changed map[string]any
				if err := yaml.Unmarshal([]byte(text), &changed); err != nil {
					t.Fatal(err)
				}
				if !at(changed, path, change) {
					continue
				}
				document, err := json.Marshal(changed)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, sample{fmt.Sprintf("grown/%s %s: %s", s.version, path, what), document})
			}
		}
	}
	slices.SortFunc(all, func(a, b sample) int { return strings.Compare(a.name, b.name) })
	return all
}

// gone in place of a value takes its key away.
type gone struct{}

// changes are what a value is replaced by, or false where that is no change.
var changes = map[string]func(any) (any, bool){
	"removed":         func(any) (any, bool) { return gone{}, true },
	"null":            func(any) (any, bool) { return nil, true },
	"empty text":      func(old any) (any, bool) { return "", old != "" },
	"text":            func(old any) (any, bool) { return "x", old != "x" },
	"number":          func(any) (any, bool) { return 1, true },
	"true":            func(old any) (any, bool) { return true, old != true },
	"empty list":      func(any) (any, bool) { return []any{}, true },
	"list of texts":   func(any) (any, bool) { return []any{"x"}, true },
	"list with null":  func(any) (any, bool) { return []any{nil}, true },
	"empty mapping":   func(any) (any, bool) { return map[string]any{}, true },
	"mapping":         func(any) (any, bool) { return map[string]any{"x": "y"}, true },
	"mapping to null": func(any) (any, bool) { return map[string]any{"x": nil}, true },
	"one field more": func(old any) (any, bool) {
		fields, isMapping := old.(map[string]any)
		if !isMapping {
			return nil, false
		}
		more := maps.Clone(fields)
		more["surplus"] = "x"
		return more, true
	},
	"the first twice": func(old any) (any, bool) {
		items, isList := old.([]any)
		if !isList || len(items) == 0 {
			return nil, false
		}
		return append([]any{items[0]}, items...), true
	},
}

// paths lists the places of all values below one, parents first.
func paths(value any, path exception.Path) []exception.Path {
	var all []exception.Path
	add := func(key, below any) {
		all = append(all, path.With(key))
		all = append(all, paths(below, path.With(key))...)
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			add(key, v[key])
		}
	case []any:
		for i, item := range v {
			add(i, item)
		}
	}
	return all
}

// at changes the value at a path, and reports whether that changed anything.
func at(tree any, path exception.Path, change func(any) (any, bool)) bool {
	for _, step := range path[:len(path)-1] {
		switch step := step.(type) {
		case string:
			tree = tree.(map[string]any)[step]
		case int:
			tree = tree.([]any)[step]
		}
	}
	switch last := path[len(path)-1].(type) {
	case string:
		fields := tree.(map[string]any)
		replacement, changed := change(fields[last])
		if !changed {
			return false
		}
		if _, remove := replacement.(gone); remove {
			delete(fields, last)
		} else {
			fields[last] = replacement
		}
		return true
	case int:
		items := tree.([]any)
		replacement, changed := change(items[last])
		if _, remove := replacement.(gone); remove || !changed {
			return false // the list itself is emptied elsewhere
		}
		items[last] = replacement
		return true
	}
	return false
}
