//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/documents"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// The parts of the policies and exceptions of TestNeverMatches. Each resource is in each namespace, with each name.
var (
	ruleKinds   = []string{"Pod", "Deployment", "apps/v1/Deployment", "apps/v1beta1/Deployment", "ConfigMap", "v1/*", "ClusterRole", "Pod/exec", "'*'", "Namespace"}
	otherKinds  = append(ruleKinds, "pod", "Pods", "'*/Deployment'", "rbac.authorization.k8s.io/*/ClusterRole", "Deploy*", "CronJob", "example.com/v1/ConfigMap")
	rulePlaces  = []string{"", ", namespaces: [blue]", ", namespaces: ['gr*']", ", names: [web]", ", selector: {matchLabels: {app: api}}"}
	otherPlaces = append(rulePlaces, ", namespaces: [red]", ", names: ['*pi']", ", namespaces: ['${ns}']", ", selector: {matchLabels: {app: web}}")
	celRules    = []string{"apiGroups: [''], apiVersions: [v1], resources: [pods]", "apiGroups: [apps], apiVersions: [v1], resources: [deployments]",
		"apiGroups: [''], apiVersions: [v1], resources: [configmaps, services]", "apiGroups: [rbac.authorization.k8s.io], apiVersions: [v1], resources: [clusterroles]", "apiGroups: ['*'], apiVersions: ['*'], resources: ['*']"}
	celConditions = []string{"object.kind == 'Pod'", "object.kind == 'pod'", "object.kind == 'Deployment'", "object.kind in ['ConfigMap', 'Secret']", "object.kind == 'ClusterRole'",
		"object.kind == 'Pod' && object.kind == 'ConfigMap'", "object.metadata.name == 'web' && object.kind == 'Job'", "object.metadata.name.startsWith('a') && object.kind != 'Service'",
		"object.kind == 'ConfigMap' || object.kind == 'Pod'", "object.kind == 'Service' ? object.metadata.name == 'web' : false",
		"object.kind == 'Pod' && object.metadata.name == 'we*'", "object.kind == 'Pod' && object.metadata.name.startsWith('w?')", "object.kind == 'Pod' && object.metadata.namee == 'web'",
		"object.kind == 'Pod' && has(object.metadata.label)", "object.kind == 'Pod' && object.metadata.labels['app'] == true", "object.kind == 'Pod' && request.operation == 'create'", "object.kind == 'Pod' && object.metadata.name == 'Web'",
		"object.apiVersion == 'v1'", "object.apiVersion == 'apps/v1'", "request.kind.kind == 'Pod'", "request.kind.group == 'apps'", "request.resource.resource == 'pods'"}
)

// unsampled matches exceptions for objects that the test does not have.
var unsampled = regexp.MustCompile(`Pod/exec|CronJob|v1beta1|\[red\]|'Job'`)

// TestNeverMatches: an exception that polex calls never-matches exempts nothing in Kyverno's own
// program, with objects of every kind, name and namespace of the test. Every other one exempts one.
func TestNeverMatches(t *testing.T) {
	var policies, exceptions, resources bytes.Buffer
	for _, name := range []string{"web", "api"} {
		object := func(apiVersion, kind, namespace, rest string) {
			if namespace != "" {
				namespace = ", namespace: " + namespace
			}
			fmt.Fprintf(&resources, "---\napiVersion: %s\nkind: %s\nmetadata: {name: %s%s, labels: {app: %s}}\n%s", apiVersion, kind, name, namespace, name, rest)
		}
		for _, namespace := range []string{"blue", "green"} {
			object("v1", "Pod", namespace, "spec: {containers: [{name: a, image: a}]}\n")
			object("v1", "ConfigMap", namespace, "")
			object("v1", "Service", namespace, "")
			object("apps/v1", "Deployment", namespace, "spec: {template: {spec: {containers: [{name: a, image: a}]}}}\n")
		}
		object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "")
	}
	for _, name := range []string{"blue", "green", "web", "api"} {
		fmt.Fprintf(&resources, "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: %s, labels: {app: %s}}\n", name, name)
	}
	count := 0
	pair := func(policy, exception string) {
		count++
		fmt.Fprintf(&policies, "---\n"+policy+"\n", fmt.Sprintf("p%d", count))
		fmt.Fprintf(&exceptions, "---\n"+exception+"\n", fmt.Sprintf("e%d", count), fmt.Sprintf("p%d", count))
	}
	for i, kinds := range ruleKinds {
		for j, place := range rulePlaces {
			for k, other := range otherKinds {
				otherPlace := otherPlaces[(i*7+j*5+k*3)%len(otherPlaces)] // a sample of all combinations
				kind, namespace, home := "ClusterPolicy", "", ""
				if (i+j+k)%5 == 0 {
					kind, namespace, home = "Policy", ", namespace: blue", "blue/"
				}
				pair(fmt.Sprintf("apiVersion: kyverno.io/v1\nkind: %s\nmetadata: {name: %%s%s}\nspec: {background: true, rules: [{name: r, match: {any: [{resources: {kinds: [%s]%s}}]}, validate: {message: denied, deny: {}}}]}", kind, namespace, kinds, place),
					fmt.Sprintf("apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: %%s, namespace: a}\nspec: {exceptions: [{policyName: %s%%s, ruleNames: [r]}], match: {any: [{resources: {kinds: [%s]%s}}]}}", home, other, otherPlace))
			}
		}
	}
	for _, rule := range celRules {
		for _, condition := range celConditions {
			pair("apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: %s}\nspec: {matchConstraints: {resourceRules: [{"+rule+", operations: [CREATE, UPDATE]}]}, validations: [{expression: 'false'}]}",
				"apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {name: %s, namespace: a}\nspec: {policyRefs: [{name: %s, kind: ValidatingPolicy}], matchConditions: [{name: a, expression: \""+condition+"\"}]}")
		}
	}
	exempting := exemptingIn(t, policies.String(), exceptions.String(), resources.String())
	checker := must.Get(shape.New(shape.Config{Policies: shape.ReadPolicies(documents.All(t, policies.String()))}))(t)
	never, unknown := 0, 0
	for _, d := range documents.All(t, exceptions.String()) {
		dead := slices.ContainsFunc(checker.Check(d, time.Now()), func(f shape.Finding) bool { return f.Reason == shape.ReasonNeverMatches })
		refused := slices.ContainsFunc(checker.Check(d, time.Now()), func(f shape.Finding) bool { return f.Reason == shape.ReasonReachesGuard })
		name := d.Identity().Name
		switch {
		case dead && exempting[name]:
			t.Errorf("polex says that it never matches, and Kyverno exempts:\n%s\n%s", d.Source(), policyOf(policies.String(), name))
		case !dead && !refused && !exempting[name] && !unsampled.MatchString(string(d.Source())+policyOf(policies.String(), name)):
			unknown++ // two names that no object has, or a custom resource
		}
		if dead {
			never++
		}
	}
	t.Logf("%d pairs: %d never match, %d exempt, %d exempt nothing here", count, never, len(exempting), unknown)
	expect.That(t, never >= 200 && len(exempting) > 100 && unknown <= 20, "the test lost its cases, or polex sees less")
}

func policyOf(policies, exception string) string {
	_, policy, _ := strings.Cut(policies, "{name: p"+exception[1:])
	policy, _, _ = strings.Cut(policy, "---")
	return policy
}

// exempted returns the results of Kyverno's own program.
func exempted(t *testing.T, policies, exceptions, resources string, more ...string) []answer {
	t.Helper()
	path := folder(t, map[string]string{"policies.yaml": policies, "exceptions.yaml": exceptions, "resources.yaml": resources})
	return applied(t, append([]string{path("policies.yaml"), "--exceptions", path("exceptions.yaml"), "--resource", path("resources.yaml")}, more...)...)
}

// exemptingIn returns the names of the exceptions that exempt an object in Kyverno's own program, and "".
func exemptingIn(t *testing.T, policies, exceptions, resources string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, r := range exempted(t, policies, exceptions, resources) {
		if r.Result == "skip" {
			for _, name := range strings.Split(r.Properties.Exceptions, ",") {
				names[name] = true
			}
		}
	}
	return names
}

// TestMayFail: Kyverno's own program fails the policy for an object that obeys it, if polex says that
// a condition may fail, and not for the form that polex proposes.
func TestMayFail(t *testing.T) {
	const policy = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: p%d}\nspec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]}, validations: [{expression: 'true'}]}\n---\n"
	const obeys = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: blue}\nspec: {containers: [{name: a, image: a}]}\n"
	checker := must.Get(shape.New(shape.Config{}))(t)
	var policies, exceptions strings.Builder
	want := map[string]bool{}
	for i, condition := range []string{
		"object.metadata.labels['app'] == 'web'", "object.metadata.labels.app == 'web'", "'app' in object.metadata.labels", "object.metadata.annotations['a/b'] == 'c'",
		"object.spec.hostNetwork == true", "oldObject.metadata.namespace == 'blue'",
		"object.metadata.?labels[?'app'].orValue('') == 'web'", "has(object.metadata.labels) && 'app' in object.metadata.labels", "request.operation == 'UPDATE' && oldObject.metadata.namespace == 'blue'",
		"has(object.spec.hostNetwork) && object.spec.hostNetwork == true", "object.metadata.name == 'api' && object.metadata.labels['app'] == 'web'",
	} {
		text := fmt.Sprintf("apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {name: e%d, namespace: a}\nspec: {policyRefs: [{name: p%d, kind: ValidatingPolicy}], matchConditions: [{name: a, expression: \"object.kind == 'Pod' && object.metadata.namespace == 'blue' && %s\"}]}\n", i, i, condition)
		fmt.Fprintf(&policies, policy, i)
		exceptions.WriteString(text + "---\n")
		for _, f := range checker.Check(documents.All(t, text)[0], time.Now()) {
			want[fmt.Sprintf("p%d", i)] = want[fmt.Sprintf("p%d", i)] || f.Reason == "may-fail"
		}
	}
	results := exempted(t, policies.String(), exceptions.String(), obeys)
	for _, r := range results {
		if failed := r.Result == "error"; failed != want[r.Policy] || !failed && r.Result != "pass" {
			t.Errorf("%s: %s %s, polex says may-fail: %t", r.Policy, r.Result, r.Message, want[r.Policy])
		}
	}
	expect.Is(t, "results", 11, len(results))
}

// TestScopes: the API server has the kinds of the table in the scopes of the table.
func TestScopes(t *testing.T) {
	kubectl := exec.CommandContext(t.Context(), fixture.FromRoot(binaries+"/kubectl"), "--kubeconfig", live.Kubeconfig(), "api-resources", "--no-headers")
	out := must.Get(kubectl.Output())(t)
	compared := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		apiVersion, namespaced, kind := fields[len(fields)-3], fields[len(fields)-2], fields[len(fields)-1]
		group, _, grouped := strings.Cut(apiVersion, "/")
		if !grouped {
			group = ""
		}
		if manifest.KindOf(group, fields[0]) == "" {
			continue
		}
		compared++
		scoped := manifest.IsClusterScoped(group, kind)
		expect.That(t, scoped != (namespaced == "true"), "%s of %s: cluster-scoped %t", kind, apiVersion, scoped)
	}
	expect.AtLeast(t, "compared", 50, compared)
}
