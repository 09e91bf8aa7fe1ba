//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"time"
)

// legacyExceptions returns n valid exceptions of kyverno.io with different names.
func legacyExceptions(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, `---
apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: web-%[1]d
  namespace: team-a
  annotations:
    polex.dev/reason: the vendor's image has no health endpoint
    polex.dev/expires-in: 7d
spec:
  exceptions:
  - policyName: require-probes
    ruleNames: [check, autogen-check]
  match:
    any:
    - resources:
        kinds: [Deployment]
        names: [web-%[1]d]
        namespaces: [team-a]
`, i)
	}
	return all.String()
}

// celExceptions returns n valid exceptions of policies.kyverno.io. Each has two conditions in
// varying forms, and no text repeats.
func celExceptions(n int) string {
	ends := time.Now().Add(7 * 24 * time.Hour).UTC().Format(time.RFC3339)
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, `---
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: web-%d, namespace: team-a}
spec:
  policyRefs:
  - {name: require-probes, kind: ValidatingPolicy}
  expiresAt: %q
  properties: {reason: the vendor's image has no health endpoint}
  matchConditions:
`, i, ends)
		fmt.Fprintf(&all, "  - name: only-web\n    expression: |-\n      %s\n", strings.ReplaceAll(celCondition(i), "\n", "\n      "))
	}
	return all.String()
}

// celCondition returns a condition of the ith exception, in the usual forms and in that of
// `polex-validate --fix`.
func celCondition(i int) string {
	team, web := fmt.Sprintf("team-%d", i), fmt.Sprintf("web-%d", i)
	forms := [][2]string{
		{"object.metadata.namespace == 'TEAM' && object.metadata.name.startsWith('WEB-')", "object.kind in ['Deployment', 'StatefulSet', 'TEAM']"},
		{"object.metadata.name == 'WEB'", "object.metadata.namespace == 'TEAM'"},
		{"has(object.metadata.labels) && 'app' in object.metadata.labels && object.metadata.labels['app'] == 'WEB'", "object.metadata.namespace in ['TEAM', 'TEAM-canary']"},
		{`object.metadata.?labels["app.kubernetes.io/name"].orValue("") == "WEB"`, `object.kind == "Deployment" && object.metadata.namespace == "TEAM"`},
		{"object.metadata.name in [NAMES]", "object.metadata.namespace == 'TEAM' || object.metadata.namespace.startsWith('TEAM-')"},
		{"request.userInfo.username == 'system:serviceaccount:TEAM:deployer'", "object.kind == 'Deployment' && object.metadata.name.startsWith('WEB-')"},
		{"object.metadata.name.matches('^WEB-[0-9a-f]+$')", "namespaceObject.metadata.name == 'TEAM'"},
		{"object.spec.template.spec.containers.exists(c, c.image.startsWith('registry.example/TEAM/'))", "object.metadata.namespace == 'TEAM' && request.operation != 'DELETE'"},
		{`[request.operation == 'DELETE' ? oldObject : object].exists(it,
  ((it.apiVersion == 'apps/v1' && it.kind == 'Deployment') &&
   (!has(request.subResource) || request.subResource == '') &&
   [has(it.metadata.name) && it.metadata.name != '' ? it.metadata.name : has(it.metadata.generateName) ? it.metadata.generateName : ''].exists(name, name == 'WEB') &&
   has(it.metadata.namespace) && it.metadata.namespace == 'TEAM')
)`, "!(object.metadata.name in ['WEB-db'])"},
		{"object.metadata.namespace == 'TEAM' && size(object.spec.containers) == 1", "object.metadata.name.split('-')[0] == 'WEB'"},
	}
	var names []string
	for j := range i/len(forms)%5 + 1 {
		names = append(names, fmt.Sprintf("'%s-%d'", web, j))
	}
	form := forms[i%len(forms)]
	r := strings.NewReplacer("TEAM", team, "WEB", web, "NAMES", strings.Join(names, ", "))
	return r.Replace("(" + form[0] + ") &&\n(" + form[1] + ")")
}
