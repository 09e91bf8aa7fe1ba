package story

import (
	"cmp"
	"fmt"
	"strings"
)

// Namespaces of the cluster.
const (
	Namespace = "platform-exceptions" // the namespace for exceptions
	Team      = "team-a"              // the namespace of the Pods
)

// Ask describes a requested exception.
type Ask struct {
	Name      string
	Namespace string // "" for the namespace for exceptions
	For       string // lifetime; "" for seven days
	Policy    string // "" for the first of the kind
}

// Kind is one of Kyverno's two kinds of exception, with policies, and Pods that violate them.
type Kind struct {
	Name     string
	Resource string // kubectl's name for the exceptions
	Policy   string // the policy of its exceptions
	policies string
	fields   [2]string
	others   string // violates a policy of the other kind
	write    func(Ask) string
}

// Kinds are both kinds.
var Kinds = []Kind{
	{
		Name: "ClusterPolicy", Resource: "policyexceptions.kyverno.io", Policy: "host-namespaces", fields: [2]string{"hostIPC: true", "hostPID: true"}, others: "hostNetwork: true",
		policies: `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: host-namespaces}
spec:
  rules:
  - name: ipc
    match: {any: [{resources: {kinds: [Pod], namespaces: [team-a]}}]}
    validate: {failureAction: Enforce, message: no Pod shares the memory of the host, pattern: {spec: {=(hostIPC): "false"}}}
  - name: pid
    match: {any: [{resources: {kinds: [Pod], namespaces: [team-a]}}]}
    validate: {failureAction: Enforce, message: no Pod sees the processes of the host, pattern: {spec: {=(hostPID): "false"}}}
`,
		write: func(a Ask) string {
			return fmt.Sprintf(`apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: %s
  namespace: %s
  annotations:
    polex.dev/reason: it reads the shared memory of the database
    polex.dev/ticket: SEC-1
    polex.dev/expires-in: %s
spec:
  exceptions:
  - policyName: %s
    ruleNames: [ipc]
  match:
    any:
    - resources:
        kinds: [Pod]
        names: [%s]
        namespaces: [team-a]
`, a.Name, a.Namespace, a.For, a.Policy, a.Name)
		},
	},
	{
		Name: "ValidatingPolicy", Resource: "policyexceptions.policies.kyverno.io", Policy: "host-network", fields: [2]string{"hostNetwork: true", "hostUsers: true"}, others: "hostIPC: true",
		policies: validatingPolicy("host-network", "hostNetwork", "no Pod uses the network of the host") + "---\n" +
			validatingPolicy("host-users", "hostUsers", "no Pod asks for the users of the host"),
		write: func(a Ask) string {
			return fmt.Sprintf(`apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata:
  name: %s
  namespace: %s
  annotations:
    polex.dev/expires-in: %s
spec:
  policyRefs:
  - name: %s
    kind: ValidatingPolicy
  matchConditions:
  - name: one-pod
    expression: object.metadata.name == '%s' && object.metadata.namespace == 'team-a'
  properties:
    reason: it measures the network of the node
    ticket: SEC-2
`, a.Name, a.Namespace, a.For, a.Policy, a.Name)
		},
	},
}

func validatingPolicy(name, field, message string) string {
	return fmt.Sprintf(`apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: %s}
spec:
  failurePolicy: Fail
  validationActions: [Deny]
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: team-a}}
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
  validations:
  - expression: "!object.spec.?%s.orValue(false)"
    message: %s
`, name, field, message)
}

// Exception returns an exception for the Pod of its own name.
func (k Kind) Exception(a Ask) string {
	a.Namespace, a.For, a.Policy = cmp.Or(a.Namespace, Namespace), cmp.Or(a.For, "7d"), cmp.Or(a.Policy, k.Policy)
	return k.write(a)
}

// Breach selects the violated policies of a kind.
type Breach int

// A Pod violates the first rule, which exceptions name. It can also violate the second, or a policy
// of the other kind.
const (
	First Breach = iota + 1
	Both
	FirstAndOthers
)

// Group returns the API group of its exceptions.
func (k Kind) Group() string {
	_, group, _ := strings.Cut(k.Resource, ".")
	return group
}

// Elder returns the name of the Pod that is older than the policies and violates the first rule.
func (k Kind) Elder() string { return "elder-" + strings.ToLower(k.Name) }

// Pod returns a Pod that violates the policies of the kind.
func (k Kind) Pod(name string, breach Breach) string {
	fields := map[Breach][]string{First: k.fields[:1], Both: k.fields[:], FirstAndOthers: {k.fields[0], k.others}}[breach]
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata:
  name: %s
  namespace: team-a
spec:
  %s
  containers:
  - {name: main, image: registry.example/main}
`, name, strings.Join(fields, "\n  "))
}
