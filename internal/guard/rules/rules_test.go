package rules_test

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/polex-dev/polex/internal/guard/rules"
	"github.com/polex-dev/polex/test/expect"
)

// TestMatch has the forms that are easily mistaken. test/e2e/celpeer compares all forms with the API server's own code.
func TestMatch(t *testing.T) {
	request := rules.Request{Operation: admissionregistrationv1.Create, Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespaced: true}
	rule := func(change func(*admissionregistrationv1.RuleWithOperations)) admissionregistrationv1.RuleWithOperations {
		r := admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		}
		change(&r)
		return r
	}
	resources := func(list ...string) func(*admissionregistrationv1.RuleWithOperations) {
		return func(r *admissionregistrationv1.RuleWithOperations) { r.Resources = list }
	}
	scope := func(s admissionregistrationv1.ScopeType) func(*admissionregistrationv1.RuleWithOperations) {
		return func(r *admissionregistrationv1.RuleWithOperations) { r.Scope = &s }
	}
	for name, tc := range map[string]struct {
		change func(*admissionregistrationv1.RuleWithOperations)
		want   bool
	}{
		"itself":                 {resources("configmaps"), true},
		"with its subresources":  {resources("configmaps/*"), true},
		"an empty subresource":   {resources("configmaps/"), true},
		"everything":             {resources("*/*"), true},
		"all resources":          {resources("*"), true},
		"the second entry":       {resources("pods", "configmaps"), true},
		"a subresource only":     {resources("configmaps/status"), false},
		"all subresources":       {resources("*/status"), false},
		"another case":           {resources("ConfigMaps"), false},
		"nothing":                {resources(""), false},
		"no list":                {resources(), false},
		"two subresources":       {resources("configmaps/*/*"), false},
		"every scope":            {scope(admissionregistrationv1.AllScopes), true},
		"objects in a namespace": {scope(admissionregistrationv1.NamespacedScope), true},
		"others":                 {scope(admissionregistrationv1.ClusterScope), false},
		"another version":        {func(r *admissionregistrationv1.RuleWithOperations) { r.APIVersions = []string{"v2"} }, false},
		"another group":          {func(r *admissionregistrationv1.RuleWithOperations) { r.APIGroups = []string{"apps"} }, false},
		"another operation": {func(r *admissionregistrationv1.RuleWithOperations) {
			r.Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Delete}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			list := []admissionregistrationv1.RuleWithOperations{rule(resources("pods")), rule(tc.change)}
			expect.Is(t, "result", tc.want, rules.Match(list, request))
		})
	}
	anyVersion := request
	anyVersion.Resource.Version = ""
	if !rules.Match([]admissionregistrationv1.RuleWithOperations{rule(func(r *admissionregistrationv1.RuleWithOperations) { r.APIVersions = []string{"v9"} })}, anyVersion) {
		t.Error("an empty version does not stand for all versions")
	}
}
