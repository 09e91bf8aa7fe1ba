//go:build e2e

package load

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/e2e/cluster"
)

// targets returns both groups in a namespace.
func targets(namespace string) []cluster.Target {
	return []cluster.Target{
		{Group: exception.KyvernoGroup, Version: "v2", Namespace: namespace},
		{Group: exception.PoliciesGroup, Version: "v1", Namespace: namespace},
	}
}

// draft describes an exception for a test.
type draft struct {
	name        string
	annotations string // further ones, as YAML flow: ", a: b"
	policy      string // "" is require-probes
	lives       string // "" is 1h
}

// in returns its YAML for a group and a namespace.
func (d draft) in(t cluster.Target) string {
	if d.policy == "" {
		d.policy = "require-probes"
	}
	if d.lives == "" {
		d.lives = "1h"
	}
	head := fmt.Sprintf(`apiVersion: %s/%s
kind: PolicyException
metadata:
  name: %s
  namespace: %s
  annotations: {polex.dev/reason: no health endpoint, polex.dev/expires-in: %s%s}
spec:
`, t.Group, t.Version, d.name, t.Namespace, d.lives, d.annotations)
	if t.Group == exception.PoliciesGroup {
		return head + fmt.Sprintf(`  policyRefs: [{name: %s, kind: ValidatingPolicy}]
  matchConditions: [{name: web, expression: object.metadata.name == 'web'}]
  reportResult: skip
`, d.policy)
	}
	return head + fmt.Sprintf(`  exceptions: [{policyName: %s, ruleNames: [check]}]
  match: {any: [{resources: {kinds: [Pod], names: [web-*], namespaces: [team-a]}}]}
`, d.policy)
}

type object = map[string]any

// seal signs drafts as a workflow, all with one certificate.
func seal(t testing.TB, id sandbox.Identity, drafts ...string) []object {
	t.Helper()
	docs, err := sandboxtest.Sign(t.Context(), box, id, time.Now(), drafts...)
	if err != nil {
		t.Fatal(err)
	}
	sealed := make([]object, len(docs))
	for i, doc := range docs {
		sealed[i] = doc.Object()
	}
	return sealed
}

func asJSON(t testing.TB, o object) []byte {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func metadata(o object) object { return o["metadata"].(object) }

func annotations(o object) object { return metadata(o)["annotations"].(object) }
