//go:build e2e

package e2e

// Two exceptions with as many fields as possible, for each served version.
const (
	wholeLegacy = `apiVersion: kyverno.io/%s
kind: PolicyException
metadata:
  name: web-probes
  namespace: team-a
  labels: {app: web}
  annotations: {polex.dev/reason: no health endpoint}
spec:
  background: false
  exceptions:
  - policyName: require-probes
    ruleNames: [check, autogen-check]
  match:
    any:
    - resources:
        kinds: [Deployment]
        names: [web]
        namespaces: [team-a]
        operations: [CREATE]
        annotations: {a: b}
        selector: {matchLabels: {app: web}}
        namespaceSelector:
          matchExpressions: [{key: team, operator: In, values: [a]}]
      roles: ["team-a:deployer"]
      clusterRoles: [deployer]
      subjects: [{kind: User, name: alice, apiGroup: rbac.authorization.k8s.io, namespace: x}]
  conditions:
    any:
    - key: "{{ request.object.metadata.name }}"
      operator: Equals
      value: [web, 1, 2.5, {deep: [true]}]
      message: why
  podSecurity:
  - controlName: Capabilities
    images: [registry.example.com/web]
    restrictedField: spec.containers[*].securityContext.capabilities.add
    values: [NET_ADMIN]
`
	wholePolicies = `apiVersion: policies.kyverno.io/%s
kind: PolicyException
metadata:
  name: web-probes
  namespace: team-a
  labels: {app: web}
  annotations: {polex.dev/owner: team-a}
spec:
  policyRefs:
  - name: require-probes
    kind: ValidatingPolicy
  matchConditions:
  - name: web
    expression: object.metadata.name == 'web'
  images: [registry.example.com/web:1]
  allowedValues: [x]
  reportResult: pass
  expiresAt: "2026-12-31T17:00:00Z"
  evaluationMode: Kubernetes
  properties: {reason: no health endpoint, ticket: T-1}
`
)

var served = []struct{ whole, version string }{
	{wholeLegacy, "v2"}, {wholeLegacy, "v2beta1"},
	{wholePolicies, "v1"}, {wholePolicies, "v1beta1"}, {wholePolicies, "v1alpha1"},
}
