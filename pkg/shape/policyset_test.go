package shape_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
)

// documents reads a stream of documents that the test wrote.
func documents(stream string) []*exception.Document {
	r := exception.NewReader(strings.NewReader(stream), "set.yaml")
	var docs []*exception.Document
	for {
		d, err := r.Next()
		if errors.Is(err, io.EOF) {
			return docs
		}
		if err != nil {
			panic(err)
		}
		docs = append(docs, d)
	}
}

// legacyPolicy returns a kyverno.io policy. Its rules are flow mappings.
func legacyPolicy(kind, name string, rules ...string) string {
	var b strings.Builder
	if namespace, bare, namespaced := strings.Cut(name, "/"); namespaced {
		name = bare + "\n  namespace: " + namespace
	}
	fmt.Fprintf(&b, "---\napiVersion: kyverno.io/v1\nkind: %s\nmetadata:\n  name: %s\nspec:\n  rules:\n", kind, name)
	for _, rule := range rules {
		b.WriteString("  - {" + rule + "}\n")
	}
	return b.String()
}

const onPods = "match: {any: [{resources: {kinds: [Pod]}}]}"

// checkRule is a rule for Pods from which Kyverno generates others.
const checkRule = "name: check, " + onPods + ", validate: {pattern: {spec: {x: z}}}"

func celPolicy(kind, name, resources string) string {
	return fmt.Sprintf("---\napiVersion: policies.kyverno.io/v1\nkind: %s\nmetadata:\n  name: %s\nspec:\n  matchConstraints:\n    resourceRules: [%s]\n", kind, name, resources)
}

const onDeployments = "{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}"

const onPodsCEL = "{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}"

// knowing returns a configuration with policies.
func knowing(policies ...string) shape.Config {
	return shape.Config{Policies: shape.ReadPolicies(documents(strings.Join(policies, "")))}
}

func TestPolicySet(t *testing.T) {
	set := shape.ReadPolicies(documents(strings.Replace(legacyPolicy("ClusterPolicy", "require-probes", checkRule), "name: require-probes", "name: require-probes\n  annotations: {policies.kyverno.io/severity: high}", 1) +
		legacyPolicy("Policy", "team-a/own", checkRule) +
		celPolicy("ValidatingPolicy", "require-probes", onDeployments) +
		"---\nkind: Test\napiVersion: cli.kyverno.io/v1alpha1\nmetadata: {name: t}\n---\nreplicas: 3\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: kyverno.io/v2beta1, kind: ClusterPolicy, metadata: {name: listed}}\n- 3\n" +
		"---\napiVersion: kyverno.io/v2\nkind: CleanupPolicy\nmetadata: {name: c}\n---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\n"))
	expect.Is(t, "policies", 4, set.Len())
	for source, want := range map[string][]string{
		legacy:   {"ClusterPolicy.kyverno.io require-probes high"},
		policies: {"ValidatingPolicy.policies.kyverno.io require-probes "},
		strings.Replace(legacy, "policyName: require-probes", "policyName: team-a/own", 1): {"Policy.kyverno.io team-a/own "},
		strings.Replace(legacy, "policyName: require-probes", "policyName: own", 1):        nil,
	} {
		var got []string
		for _, ref := range kyverno.Read(change{of: source}.document(t)).Refs {
			for _, p := range set.Find(ref) {
				got = append(got, p.String()+" "+p.Severity)
			}
		}
		expect.Equal(t, "result", want, got)
	}
}
