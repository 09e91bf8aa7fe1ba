package request_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// scene contains the resources of the violations, and resources that differ from them only in the
// name, the namespace, the kind or the group.
const scene = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: team-a}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: team-a}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: team-b}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: team-a}
---
apiVersion: apps.example/v1
kind: Deployment
metadata: {name: web, namespace: team-a}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-5d8f7c9b6d, namespace: team-a, labels: {pod-template-hash: 5d8f7c9b6d}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-api-5d8f7c9b6d, namespace: team-a, labels: {pod-template-hash: 5d8f7c9b6d}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-5d8f7c9b6d, namespace: team-b, labels: {pod-template-hash: 5d8f7c9b6d}}
---
apiVersion: apps.example/v1
kind: ReplicaSet
metadata: {name: web-5d8f7c9b6d, namespace: team-a, labels: {pod-template-hash: 5d8f7c9b6d}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: web-5d8f7c9b6d, namespace: team-a, labels: {pod-template-hash: 5d8f7c9b6d}}
---
apiVersion: v1
kind: Pod
metadata: {name: web-5d8f7c9b6d-x2x4z, namespace: team-a, labels: {pod-template-hash: 5d8f7c9b6d}}
---
apiVersion: v1
kind: Pod
metadata: {name: web-api-5d8f7c9b6d-x2x4z, namespace: team-a, labels: {pod-template-hash: 5d8f7c9b6d}}
---
apiVersion: v1
kind: Pod
metadata: {name: web-5d8f7c9b6d-x2x4z, namespace: team-b, labels: {pod-template-hash: 5d8f7c9b6d}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web-5d8f7c9b6d-x2x4z, namespace: team-a, labels: {pod-template-hash: 5d8f7c9b6d}}
---
apiVersion: pods.example/v1
kind: Pod
metadata: {name: web-5d8f7c9b6d-x2x4z, namespace: team-a, labels: {pod-template-hash: 5d8f7c9b6d}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: front, namespace: team-a}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: back, namespace: team-a}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: front, namespace: team-b}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: front, namespace: team-a}
---
apiVersion: extensions/v1
kind: Ingress
metadata: {name: front, namespace: team-a}
`

// TestMinimal: each draft exempts the resources of its violation and no similar ones. Without any
// one of its restrictions, it would exempt more or be rejected.
func TestMinimal(t *testing.T) {
	known := shape.ReadPolicies(parse(t, policies))
	checker, err := shape.New(shape.Config{Preset: "strict", Policies: known})
	if err != nil {
		t.Fatal(err)
	}
	resources := parse(t, scene)
	for _, tc := range []struct {
		violation request.Violation
		exempt    int
	}{
		// Kyverno's selectors cannot express the core group: "v1/Pod" is a Pod of any group, also
		// of pods.example.
		{of("probes", "autogen-check", "Deployment", "team-a", "web"), 4},
		{of("probes", "replicas", "Deployment", "team-a", "web"), 1},
		{of("probes", "check", "Pod", "team-a", "web-5d8f7c9b6d-x2x4z"), 2},
		{of("team-a/labels", "check", "Ingress", "team-a", "front"), 1},
		{of("readiness", "", "Deployment", "team-a", "web"), 3},
		{of("readiness", "", "Pod", "team-a", "web-5d8f7c9b6d-x2x4z"), 1},
		{of("team-a/hosts", "", "Ingress", "team-a", "front"), 1},
	} {
		drafts, problems, err := request.New([]request.Violation{tc.violation}, request.Options{Policies: known, Statements: said})
		if err != nil || len(drafts) != 1 {
			t.Fatal(problems, err)
		}
		if got := len(exempts(t, drafts[0].Document, resources)); got != tc.exempt {
			t.Errorf("%s %s: %d exempt, want %d\n%s", tc.violation.Policy, tc.violation.Resource, got, tc.exempt, drafts[0].Source)
		}
		wider := append(withoutFields(t, drafts[0].Document), withoutConditions(t, drafts[0].Source)...)
		if len(wider) < 3 {
			t.Errorf("%s: only %d restrictions", tc.violation.Resource, len(wider))
		}
		for _, doc := range wider {
			refused := false
			for _, f := range checker.Check(doc, now) {
				refused = refused || f.Severity == shape.Error
			}
			if !refused && len(exempts(t, doc, resources)) <= tc.exempt {
				object, _ := manifest.Readable(doc.Object())
				t.Errorf("%s: without a restriction, it exempts no more\n%s", tc.violation.Resource, object)
			}
		}
	}
}

// withoutFields removes one field of one filter each time, and uses all rules.
func withoutFields(t *testing.T, doc *exception.Document) []*exception.Document {
	t.Helper()
	value, there := doc.Lookup("spec", "match", "any")
	if !there {
		return nil
	}
	var all []*exception.Document
	changed := func(change func(spec map[string]any)) {
		object := doc.Object()
		change(object["spec"].(map[string]any))
		d, err := exception.FromObject(object)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	for i := range value.([]any) {
		for _, field := range []string{"kinds", "names", "namespaces"} {
			changed(func(spec map[string]any) {
				delete(spec["match"].(map[string]any)["any"].([]any)[i].(map[string]any)["resources"].(map[string]any), field)
			})
		}
	}
	changed(func(spec map[string]any) { spec["exceptions"].([]any)[0].(map[string]any)["ruleNames"] = []any{"*"} })
	return all
}

var comparison = regexp.MustCompile(`object\.[a-z.A-Z]+( == '[^']*'|\.(matches|startsWith)\('[^']*'\))`)

// withoutConditions removes one comparison each time.
func withoutConditions(t *testing.T, source []byte) []*exception.Document {
	t.Helper()
	text := string(source)
	if !strings.Contains(text, "matchConditions") {
		return nil
	}
	var all []*exception.Document
	for _, at := range comparison.FindAllStringIndex(text, -1) {
		all = append(all, parse(t, text[:at[0]]+"true"+text[at[1]:])[0])
	}
	return all
}
