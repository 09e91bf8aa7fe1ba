//go:build e2e

package gitops

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
)

// draft returns an exception of the older group with a lifetime of an hour.
func draft(name string) string { return lasting(name, "1h") }

// lasting returns one with the given lifetime.
func lasting(name, life string) string {
	return fmt.Sprintf(`apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: %s
  namespace: %s
  annotations: {polex.dev/reason: no health endpoint, polex.dev/expires-in: %s}
spec:
  exceptions: [{policyName: require-probes, ruleNames: [check]}]
  match: {any: [{resources: {kinds: [Pod], names: [web-*], namespaces: [team-a]}}]}
`, name, where, life)
}

// newer returns one of the newer group.
func newer(name string) string {
	return fmt.Sprintf(`apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata:
  name: %s
  namespace: %s
  annotations: {polex.dev/reason: no health endpoint, polex.dev/expires-in: 1h}
spec:
  policyRefs: [{name: require-probes, kind: ValidatingPolicy}]
  matchConditions: [{name: web, expression: object.metadata.name == 'web'}]
  reportResult: skip
`, name, where)
}

// seal signs drafts as the trusted merge workflow.
func seal(t *testing.T, drafts ...string) []string {
	t.Helper()
	return sealing{}.seal(t, drafts...)
}

// sealing has the signer and its clock.
type sealing struct {
	by     sandbox.Identity // "" for the merge workflow
	behind time.Duration    // the delay of the signer's clock: less than the ten minutes that a verifier allows
}

func (s sealing) seal(t *testing.T, drafts ...string) []string {
	t.Helper()
	return sandboxtest.Files(t, box, s.by, time.Now().Add(-s.behind), drafts...)
}

// refused lists files that a cluster with the merge workflow as trusted signer must reject, with
// the reasons.
func refused(t *testing.T) map[string]struct{ text, reason string } {
	t.Helper()
	wide := seal(t, draft("altered"))[0]
	return map[string]struct{ text, reason string }{
		"unsigned":  {draft("unsigned"), "unsigned"},
		"altered":   {strings.Replace(wide, "require-probes", "require-limits", 1), "altered"},
		"expired":   {sealing{behind: 9 * time.Minute}.seal(t, lasting("expired", "5m"))[0], "expired"},
		"elsewhere": {sealing{by: sandbox.Identity{Repository: "acme/other"}}.seal(t, draft("elsewhere"))[0], "wrong-identity"},
	}
}
