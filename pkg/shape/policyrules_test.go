package shape_test

import (
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

func TestCalled(t *testing.T) {
	docs := must.Get(parseAll([]byte(`apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: a, annotations: {pod-policies.kyverno.io/autogen-controllers: "Deployment,CronJob"}}
spec:
  rules:
  - {name: standards, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {podSecurity: {level: baseline}}}
  - {name: images, match: {any: [{resources: {kinds: [Pod]}}]}, verifyImages: [{imageReferences: ["*"]}]}
  - {name: services, match: {any: [{resources: {kinds: [Service]}}]}, validate: {pattern: {spec: {a: b}}}}
---
apiVersion: kyverno.io/v1
kind: Policy
metadata: {name: a, namespace: team-a}
spec: {rules: []}
---
apiVersion: kyverno.io/v1
kind: Policy
metadata: {name: homeless}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: a}
spec: {matchConstraints: {resourceRules: [{resources: [services]}, {resources: [pods]}]}}
---
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: b}
spec: {matchConstraints: {resourceRules: [{resources: [services]}]}}
`), "policies.yaml"))(t)
	set := shape.ReadPolicies(docs)
	for name, want := range map[string][]string{
		"a": {"ClusterPolicy.kyverno.io a", "Policy.kyverno.io team-a/a", "ValidatingPolicy.policies.kyverno.io a about Pods"}, "b": {"MutatingPolicy.policies.kyverno.io b"},
		// A name with a namespace is that of a policy there, or of one without a namespace in its document.
		"team-a/a": {"Policy.kyverno.io team-a/a"}, "team-b/a": nil, "c": nil,
		"team-a/homeless": {"Policy.kyverno.io homeless"}, "homeless": {"Policy.kyverno.io homeless"},
	} {
		var got []string
		for _, known := range set.Called(name) {
			line := known.String()
			if known.AboutPods {
				line += " about Pods"
			}
			got = append(got, line)
		}
		expect.Equal(t, name, want, got)
	}
	want := []kyverno.Rule{
		{Name: "standards", PodSecurity: true, Baseline: true, Made: map[string]string{"Deployment": "autogen-standards", "CronJob": "autogen-cronjob-standards"}},
		{Name: "images", Early: true, Made: map[string]string{"Deployment": "autogen-images", "CronJob": "autogen-cronjob-images"}},
		{Name: "services", Made: map[string]string{}},
	}
	expect.Equal(t, "result", want, set.Called("a")[0].Rules, cmpopts.IgnoreUnexported(kyverno.Rule{}))
}
