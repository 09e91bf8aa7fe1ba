package shape_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

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
