//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno/translate"
	"github.com/polex-dev/polex/pkg/exception"
)

// translatedMatches are matches of kyverno.io. Kyverno reads their translation.
var translatedMatches = []string{
	`any: [{resources: {kinds: [Deployment, Pod], names: [web, web-*], namespaces: [team-a]}}]`,
	`any: [{resources: {kinds: [apps/v1/Deployment]}}]`,
	`any: [{resources: {kinds: ["*/Pod"], names: ["?eb"]}}]`,
	`any: [{resources: {kinds: ["/v1/Pod"]}}]`,
	`any: [{resources: {kinds: ["*.k8s.io/v1/Clus*"], name: web}}]`,
	`any: [{resources: {names: [web]}}]`,
	`any: [{resources: {namespaces: ["team-?"]}}]`,
	`any: [{resources: {namespaces: [""]}}]`,
	`any: [{resources: {kinds: [Namespace], namespaces: [team-a]}}]`,
	`any: [{resources: {annotations: {why: "because*"}}}]`,
	`any: [{resources: {selector: {matchLabels: {app: "web*"}}}}]`,
	`any: [{resources: {selector: {matchExpressions: [{key: app, operator: NotIn, values: [web]}]}}}]`,
	`any: [{resources: {kinds: [Pod], selector: {matchExpressions: [{key: app, operator: DoesNotExist}]}}}]`,
	`any: [{resources: {namespaceSelector: {matchLabels: {team: a}}}}]`,
	`any: [{resources: {kinds: [Pod]}}, {resources: {names: [web], namespaces: [team-a]}}]`,
	`all: [{resources: {kinds: [Pod, Deployment]}}, {resources: {namespaces: [team-a], names: ["web*"]}}]`,
}

const translatedResources = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: team-a, labels: {app: web}, annotations: {why: because I can}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: webby, namespace: team-b, labels: {app: webby}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: team-a, annotations: {why: not}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: team-b, labels: {app: db}}
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: team-a}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-a, labels: {team: a}}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-b, labels: {team: b}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: web, labels: {app: web}}
`

// TestTranslationInKyverno compares in Kyverno's CLI the resources that each exception exempts: in
// the old form from a ClusterPolicy that rejects everything, and translated from such a
// ValidatingPolicy.
func TestTranslationInKyverno(t *testing.T) {
	var oldExceptions, newExceptions, oldPolicies, newPolicies []string
	for i, match := range translatedMatches {
		policy := fmt.Sprintf("refuse-%d", i)
		source := fmt.Sprintf("apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: exempt-%d, namespace: team-a}\nspec:\n  exceptions: [{policyName: %s, ruleNames: ['*']}]\n  match: {%s}\n", i, policy, match)
		doc, err := exception.Parse([]byte(source), "")
		if err != nil {
			t.Fatal(err)
		}
		translated, notes, err := translate.Exception(doc, translate.Translation{PolicyKinds: map[string]string{policy: "ValidatingPolicy"}})
		if err != nil || len(notes) > 0 {
			t.Fatal(match, notes, err)
		}
		oldExceptions, newExceptions = append(oldExceptions, source), append(newExceptions, string(translated))
		oldPolicies = append(oldPolicies, fmt.Sprintf("apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: %s}\nspec:\n  rules:\n  - name: all\n    match: {any: [{resources: {kinds: [Deployment, StatefulSet, Pod, Namespace, ClusterRole]}}]}\n    validate: {failureAction: Enforce, message: refused, deny: {}}\n", policy))
		newPolicies = append(newPolicies, refusing(policy))
	}
	before := question{resources: translatedResources, policies: oldPolicies, exceptions: oldExceptions}.ask(t)
	after := question{resources: translatedResources, policies: newPolicies, exceptions: newExceptions}.ask(t)
	resources := strings.Count(translatedResources, "kind: ")
	if len(before) != len(translatedMatches)*resources {
		t.Errorf("%d answers for %d exceptions and %d resources", len(before), len(translatedMatches), resources)
	}
	exempt := 0
	for about, result := range before {
		if after[about] != result {
			t.Errorf("%s: %q by the old form, %q by the new", about, result, after[about])
		}
		if result == "skip" {
			exempt++
		}
	}
	t.Logf("%d exceptions, %d resources, %d of %d answers exempt", len(translatedMatches), resources, exempt, len(before))
}

// refusing returns a ValidatingPolicy that rejects everything.
func refusing(name string) string {
	return fmt.Sprintf("apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: %s}\nspec:\n  autogen: {podControllers: {controllers: []}}\n  matchConstraints:\n    resourceRules:\n    - {apiGroups: ['', apps, rbac.authorization.k8s.io], apiVersions: ['*'], operations: [CREATE, UPDATE, DELETE], resources: [deployments, statefulsets, pods, namespaces, clusterroles]}\n  validations: [{expression: 'false', message: refused}]\n", name)
}

// question is the input of Kyverno's CLI.
type question struct {
	resources            string
	policies, exceptions []string
	operation            string // "" is CREATE
}

// ask returns the CLI's result for each policy and resource: "fail", "skip" if an exception exempts
// it, or "error" if one cannot be evaluated.
func (q question) ask(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	values := "apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\nnamespaceSelector:\n- {name: team-a, labels: {team: a}}\n- {name: team-b, labels: {team: b}}\n"
	if q.operation != "" {
		values += "globalValues: {request.operation: " + q.operation + "}\n"
	}
	files := map[string]string{
		"policies.yaml": strings.Join(q.policies, "---\n"), "exceptions.yaml": strings.Join(q.exceptions, "---\n"), "resources.yaml": q.resources, "values.yaml": values,
	}
	for name, text := range files {
		if err := os.WriteFile(file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	results := map[string]string{}
	for _, r := range applied(t, file("policies.yaml"), "--resource", file("resources.yaml"), "--exception", file("exceptions.yaml"), "--values-file", file("values.yaml")) {
		if r.Result != "skip" && r.Result != "fail" && r.Result != "error" {
			t.Errorf("%s: %s: %s", r.Policy, r.Result, r.Message)
		}
		results[fmt.Sprintf("%s %s", r.Policy, r.Resources[0])] = r.Result
	}
	return results
}
