package celpeer

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	peer "k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/guard/rules"
	"github.com/polex-dev/polex/test/must"
)

type (
	rule      = admissionregistrationv1.RuleWithOperations
	operation = admissionregistrationv1.OperationType
)

// The entries of a rule, with those that are easily mistaken.
var (
	someOperations = [][]operation{{"*"}, {"CREATE"}, {"UPDATE"}, {"DELETE"}, {"CONNECT"}, {"DELETE", "UPDATE"}, {"create"}, {""}, nil}
	someGroups     = [][]string{{"*"}, {""}, {"coordination.k8s.io"}, {"kyverno.io"}, {"apps", ""}, {"*.io"}, {"/"}, nil}
	someVersions   = [][]string{{"*"}, {"v1"}, {"v2"}, {"v1", "v2"}, {"V1"}, {""}, nil}
	someScopes     = []*admissionregistrationv1.ScopeType{nil, new(admissionregistrationv1.AllScopes), new(admissionregistrationv1.NamespacedScope), new(admissionregistrationv1.ClusterScope)}
	someResources  = func() [][]string {
		lists := [][]string{nil, {"pods", "configmaps/*"}, {"pods/*", "secrets/status"}, {"policyexceptions", "policyexceptions/status"}}
		for _, resource := range []string{"*", "", "configmaps", "secrets", "leases", "policyexceptions", "namespaces", "pods", "configmap", "ConfigMaps", "*s", "configmaps*"} {
			for _, subresource := range []string{"", "/", "/*", "/status", "/scale", "/*/*", "/**", "*"} {
				lists = append(lists, []string{resource + subresource})
			}
		}
		return lists
	}()
)

// everyRule calls a function with every combination of entries.
func everyRule(try func(rule)) {
	for _, operations := range someOperations {
		for _, groups := range someGroups {
			for _, versions := range someVersions {
				for _, resources := range someResources {
					for _, scope := range someScopes {
						try(rule{Operations: operations, Rule: admissionregistrationv1.Rule{APIGroups: groups, APIVersions: versions, Resources: resources, Scope: scope}})
					}
				}
			}
		}
	}
}

// peerMatches reports whether the API server matches a rule to a request.
func peerMatches(r rule, request rules.Request) bool {
	namespace := ""
	if request.Namespaced || request.Resource.Resource == "namespaces" { // the API server sets it to the name of a namespace
		namespace = "polex-system"
	}
	m := peer.Matcher{Rule: r, Attr: admission.NewAttributesRecord(nil, nil, schema.GroupVersionKind{}, namespace, "a", request.Resource, request.Subresource, admission.Operation(request.Operation), nil, false, nil)}
	return m.Matches()
}

// TestRules compares the matching of rules with the API server's own code.
func TestRules(t *testing.T) {
	var requests []rules.Request
	for resource, namespaced := range map[schema.GroupVersionResource]bool{
		{Version: "v1", Resource: "configmaps"}:                             true,
		{Version: "v1", Resource: "namespaces"}:                             false,
		{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}:   true,
		{Group: "kyverno.io", Version: "v2", Resource: "policyexceptions"}:  true,
		{Group: "kyverno.io", Version: "v1", Resource: "policyexceptions"}:  false,
		{Group: "kyverno.io", Version: "v1", Resource: "policyexceptions/"}: true,
	} {
		for _, subresource := range []string{"", "status"} {
			for _, o := range []operation{"CREATE", "UPDATE", "DELETE", "CONNECT"} {
				requests = append(requests, rules.Request{Operation: o, Resource: resource, Subresource: subresource, Namespaced: namespaced})
			}
		}
	}
	matched, others := 0, 0
	everyRule(func(r rule) {
		for _, request := range requests {
			want := peerMatches(r, request)
			if got := rules.Match([]rule{r}, request); got != want {
				t.Fatalf("%+v, %+v: %t, and the API server %t", r, request, got, want)
			}
			if want {
				matched++
			} else {
				others++
			}
		}
	})
	must.That(t, matched >= 10000 && others >= 10000, "%d matched and %d did not", matched, others)
}

// policy is a policy of policies/guard with its compiled expressions.
type policy struct {
	conditions  []cel.Program
	variables   []string
	expressions map[string]cel.Program
	validation  cel.Program
}

// compiled returns a policy with one validation.
func compiled(t *testing.T, file string) policy {
	t.Helper()
	text := must.Get(os.ReadFile("../../../policies/guard/" + file))(t)
	document, _, _ := bytes.Cut(text, []byte("\n---\n"))
	var of admissionregistrationv1.ValidatingAdmissionPolicy
	must.Do(t, yaml.UnmarshalStrict(document, &of))
	env := must.Get(peerEnv(t).Extend(cel.Variable("variables", cel.MapType(cel.StringType, cel.DynType))))(t)
	compile := func(expression string) cel.Program {
		t.Helper()
		checked, issues := env.Compile(expression)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		return must.Get(env.Program(checked))(t)
	}
	p := policy{expressions: map[string]cel.Program{}}
	for _, c := range of.Spec.MatchConditions {
		p.conditions = append(p.conditions, compile(c.Expression))
	}
	for _, v := range of.Spec.Variables {
		p.variables = append(p.variables, v.Name)
		p.expressions[v.Name] = compile(v.Expression)
	}
	must.That(t, len(of.Spec.Validations) == 1, "%s has %d validations", file, len(of.Spec.Validations))
	p.validation = compile(of.Spec.Validations[0].Expression)
	return p
}

// allows evaluates the policy for an object that a user without special rights creates.
func (p policy) allows(t *testing.T, resource string, object any) bool {
	t.Helper()
	content := must.Get(runtime.DefaultUnstructuredConverter.ToUnstructured(object))(t)
	return p.evaluate(t, map[string]any{"operation": "CREATE", "resource": map[string]any{"resource": resource}}, content, nil)
}

// evaluate evaluates the policy for a request, without userInfo for that of a user without special
// rights. Without an object, pass nil.
func (p policy) evaluate(t *testing.T, request map[string]any, object, oldObject any) bool {
	t.Helper()
	if request["userInfo"] == nil {
		request["userInfo"] = map[string]any{"username": "mallory"}
	}
	variables := map[string]any{}
	input := map[string]any{"object": object, "oldObject": oldObject, "variables": variables, "request": request}
	eval := func(program cel.Program) any {
		t.Helper()
		value, _, err := program.Eval(input)
		must.Do(t, err)
		return value
	}
	for _, condition := range p.conditions {
		if eval(condition) == types.False {
			return true
		}
	}
	for _, name := range p.variables {
		variables[name] = eval(p.expressions[name])
	}
	return eval(p.validation) == types.True
}

// guarded are the requests that change what the guard depends on.
var guarded = func() (all []rules.Request) {
	for _, o := range []operation{"CREATE", "UPDATE"} {
		for _, resource := range []schema.GroupVersionResource{{Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "secrets"}, {Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}} {
			all = append(all, rules.Request{Operation: o, Resource: resource, Namespaced: true})
		}
	}
	return all
}()

// TestPolicies compares the rules in the policies of protect with the API server's own code. The
// policies read no versions, because the API server converts a request for a rule of another version.
func TestPolicies(t *testing.T) {
	mutators, mutations := compiled(t, "protect/mutators.yaml"), compiled(t, "protect/mutations.yaml")
	refused, allowed := 0, 0
	everyRule(func(r rule) {
		if len(r.APIVersions) != 1 || !slices.Contains([]string{"*", "v2"}, r.APIVersions[0]) {
			return
		}
		anyVersion := r
		anyVersion.APIVersions = []string{"*"}
		want := slices.ContainsFunc(guarded, func(request rules.Request) bool { return peerMatches(anyVersion, request) })
		hook := &admissionregistrationv1.MutatingWebhookConfiguration{Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: "a.example.com", Rules: []rule{r}}}}
		if mutators.allows(t, "mutatingwebhookconfigurations", hook) == want {
			t.Errorf("a webhook with %+v: the API server matches the objects of the guard: %t", r, want)
		}
		object := &admissionregistrationv1.MutatingAdmissionPolicy{Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: r}}},
		}}
		if mutations.allows(t, "mutatingpolicies", object) == want {
			t.Errorf("a MutatingPolicy with %+v: the API server matches the objects of the guard: %t", r, want)
		}
		if want {
			refused++
		} else {
			allowed++
		}
	})
	must.That(t, refused >= 100 && allowed >= 1000, "%d were refused and %d allowed", refused, allowed)
}

// TestBackgroundController: this controller of Kyverno writes for the authors of policies, so it may not
// write the webhooks of Kyverno.
func TestBackgroundController(t *testing.T) {
	hook := changed(t, "policyexceptions.kyverno.io", "kyverno-x")
	hook["webhooks"] = []any{map[string]any{"name": "a", "rules": []any{map[string]any{
		"apiGroups": []any{""}, "resources": []any{"configmaps"}, "operations": []any{"CREATE"},
	}}}}
	for _, file := range []string{"protect/mutators.yaml", "protect/cluster.yaml"} {
		for name, allowed := range map[string]bool{"kyverno-admission-controller": true, "kyverno-background-controller": false} {
			request := map[string]any{
				"operation": "CREATE", "resource": map[string]any{"group": "admissionregistration.k8s.io", "resource": "mutatingwebhookconfigurations"},
				"userInfo": map[string]any{"username": "system:serviceaccount:kyverno:" + name, "groups": []any{"system:serviceaccounts:kyverno"}},
			}
			if got := compiled(t, file).evaluate(t, request, hook, nil); got != allowed {
				t.Errorf("%s: %s: allowed: %t", file, name, got)
			}
		}
	}
}

// TestKyvernoRules has Kyverno's rules in which a filter that Kyverno does not read hides another one.
func TestKyvernoRules(t *testing.T) {
	mutations := compiled(t, "protect/mutations.yaml")
	const wide, narrow, elsewhere = "resources: {kinds: [ConfigMap]}", "resources: {kinds: [Pod]}", "resources: {kinds: [Secret], namespaces: [team-a]}"
	for _, tc := range []struct {
		match   string
		allowed bool
	}{
		{"match: {any: [{" + narrow + "}]}", true},
		{"match: {any: [{" + narrow + "}, {" + elsewhere + "}]}", true},
		{"match: {any: [{" + narrow + "}, {" + wide + "}]}", false},
		{"match: {all: [{" + narrow + "}, {" + wide + "}]}", true},
		{"match: {all: [{" + wide + "}]}", false},
		{"match: {" + narrow + "}", true},
		{"match: {" + wide + "}", false},
		{"match: {}", false},
		{"match: {subjects: []}", false},
		{"a: b", false},
		// Kyverno reads any before all, and all before resources.
		{"match: {any: [{" + wide + "}], " + narrow + "}", false},
		{"match: {all: [{" + wide + "}], " + narrow + "}", false},
		{"match: {any: [{" + wide + "}], all: [{" + narrow + "}]}", false},
		{"match: {any: [{" + narrow + "}], " + wide + "}", true},
		{"match: {any: [], " + narrow + "}", true},
		{"match: {any: [], " + wide + "}", false},
		{"match: {any: [{" + wide + "}]}, exclude: {any: [{resources: {namespaces: [polex-system]}}]}", true},
		{"match: {any: [{" + wide + "}]}, exclude: {any: [{resources: {namespaces: [other]}}]}", false},
		{"match: {any: [{" + wide + "}]}, exclude: {all: [{resources: {namespaces: [polex-system]}}]}", false},
	} {
		var object map[string]any
		must.Do(t, yaml.Unmarshal(fmt.Appendf(nil, "{spec: {rules: [{%s, mutate: {patchStrategicMerge: {a: b}}}]}}",
			tc.match), &object))
		if got := mutations.allows(t, "clusterpolicies", &object); got != tc.allowed {
			t.Errorf("%s: allowed: %t", tc.match, got)
		}
	}
	for rules, allowed := range map[string]bool{"": false, "resourceRules: []": false, "namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [polex-system]}]}": true} {
		var object map[string]any
		must.Do(t, yaml.Unmarshal([]byte("{spec: {matchConstraints: {"+rules+"}}}"), &object))
		if got := mutations.allows(t, "mutatingpolicies", &object); got != allowed {
			t.Errorf("a MutatingPolicy for all resources, %q: allowed: %t", strings.TrimSpace(rules), got)
		}
	}
}

// peerEnv returns the environment of Kyverno's webhook for PolicyException: the base of Kubernetes with four variables.
func peerEnv(t *testing.T) *cel.Env {
	t.Helper()
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	stored := must.Get(base.Env(environment.StoredExpressions))(t)
	request, namespace := plugincel.BuildRequestType(), plugincel.BuildNamespaceType()
	for _, name := range []string{"object", "oldObject"} {
		request.Fields[name] = apiservercel.NewDeclField(name, apiservercel.DynType, false, nil, nil)
	}
	types := must.Get(apiservercel.NewDeclTypeProvider(namespace, request).EnvOptions(stored.CELTypeProvider()))(t)
	extended := must.Get(base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions: append([]cel.EnvOption{
			cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType),
			cel.Variable("request", request.CelType()), cel.Variable("namespaceObject", namespace.CelType()),
		}, types...),
	}))(t)
	return must.Get(extended.Env(environment.NewExpressions))(t)
}

// peerTakes reports whether Kyverno accepts an expression as a condition.
func peerTakes(env *cel.Env, expression string) bool {
	checked, issues := env.Compile(expression)
	return issues.Err() == nil && checked.OutputType().IsExactType(cel.BoolType)
}
