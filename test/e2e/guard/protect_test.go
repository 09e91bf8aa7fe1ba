//go:build e2e

package guard

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// The users. RBAC permits everything to all of them, so only the policies that protect the guard reject requests.
const (
	administratorGroup   = "platform-admins"
	administratorAccount = "system:serviceaccount:flux-system:kustomize-controller"
	certManager          = "system:serviceaccount:cert-manager:cert-manager"
	injector             = "system:serviceaccount:cert-manager:cert-manager-cainjector"
)

// person is a user with groups.
type person struct {
	name   string
	groups []string
}

var (
	stranger      = person{name: "mallory", groups: []string{"developers"}}
	administrator = person{name: "alice", groups: []string{"developers", administratorGroup}}
	gitops        = person{name: administratorAccount}
)

// as returns kubectl's flags to impersonate the user. The group omnipotents has all permissions by RBAC.
func (p person) as() []string {
	flags := []string{"--as", p.name, "--as-group", "omnipotents", "--as-group", "system:authenticated"}
	for _, g := range p.groups {
		flags = append(flags, "--as-group", g)
	}
	return flags
}

// does runs kubectl as the user.
func (p person) does(t *testing.T, input string, args ...string) error {
	t.Helper()
	_, err := kubectl(t, input, append(args, p.as()...)...)
	return err
}

const notAmong = "is not among the administrators of the guard"

// administrators are the named users and groups, in CEL; "" keeps the delivered value.
type administrators struct{ groups, users, certifiers string }

// build builds the folder protect with these administrators.
func (k administrators) build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.CopyFS(dir, os.DirFS(fixture.FromRoot(manifestsFolder+"/protect"))))
	file := filepath.Join(dir, "administrators.yaml")
	text := must.Get(os.ReadFile(file))(t)
	for field, names := range map[string]string{"groups": k.groups, "users": k.users, "certifiers": k.certifiers} {
		line := regexp.MustCompile(`(?m)^  ` + field + `: .*$`)
		must.That(t, line.Match(text), "there is nowhere to name %s", field)
		if names != "" {
			text = line.ReplaceAll(text, fmt.Appendf(nil, "  %s: %q", field, names))
		}
	}
	must.Do(t, os.WriteFile(file, text, 0o600))
	return mustKubectl(t, "", "kustomize", dir)
}

// protect applies the policies that protect the guard, and waits until they take effect: they
// reject a stranger, and not a named user.
func protect(t *testing.T, k administrators, named person) {
	t.Helper()
	manifests := k.build(t)
	apply(t, polexPolicies)
	t.Cleanup(func() {
		for _, path := range []string{"/apis/kyverno.io/v1/clusterpolicies/polex-test", "/apis/kyverno.io/v1/clusterpolicies/other", "/apis/policies.kyverno.io/v1/validatingpolicies/polex-test"} {
			_, _ = live.Delete(context.Background(), path)
		}
	})
	permitEverything(t)
	apply(t, manifests)
	t.Cleanup(func() { unprotect(t, manifests) })
	for _, p := range protected {
		until(t, "what protects "+p.object, func(context.Context) error {
			if err := refusesIt(stranger.touches(t, p.object, p.namespace)); err != nil {
				return err
			}
			return named.touches(t, p.object, p.namespace)
		})
	}
	until(t, "what protects from mutators", func(context.Context) error {
		return refusesIt(stranger.does(t, webhookOf("Mutating", "labels", "configmaps", ""), "create",
			"--dry-run=server", "-f", "-"))
	})
}

// permitEverything gives the group omnipotents all permissions by RBAC.
func permitEverything(t *testing.T) {
	t.Helper()
	mustKubectl(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: omnipotents},
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: omnipotents}]}`, "apply", "-f", "-")
}

// touches changes an object in a dry run.
func (p person) touches(t *testing.T, object, namespace string) error {
	t.Helper()
	return p.does(t, "", "annotate", "--overwrite", "--dry-run=server", object, "a=b", "--namespace", namespace)
}

// refusesIt returns nil for a rejection by these policies.
func refusesIt(err error) error {
	if err == nil {
		return errors.New("it is not refused")
	}
	if !strings.Contains(err.Error(), notAmong) {
		return err
	}
	return nil
}

// unprotect deletes the policies. The API server does not apply policies to policies.
func unprotect(t *testing.T, manifests string) {
	t.Helper()
	for _, o := range objectsOf(t, manifests) {
		if strings.HasPrefix(o.GetKind(), "ValidatingAdmissionPolicy") {
			kubectlAfterwards(t, "delete", o.GetKind(), o.GetName())
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	err := live.Until(ctx, "nothing to be protected", func(ctx context.Context) error {
		answer, err := live.Post(ctx, "/api/v1/namespaces/"+guardNamespace+"/configmaps?dryRun=All",
			[]byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: probe}}"))
		if err == nil && strings.Contains(answer.Message(), notAmong) {
			err = errors.New(answer.Message())
		}
		return err
	})
	expect.NoError(t, err)
}

// protected lists objects that the guard depends on, one for each policy.
var protected = []struct{ object, namespace string }{
	{"validatingwebhookconfiguration/polex-guard", ""},
	{"configmap/polex-guard", guardNamespace},
	{"clusterpolicy/polex-test", ""},
	{"configmap/kyverno", "kyverno"},
	{"customresourcedefinition/policyexceptions.kyverno.io", ""},
}

const polexPolicies = `
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: polex-test}
spec: {rules: [{name: a, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: a, deny: {}}}]}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: polex-test}
spec:
  validationActions: [Audit]
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "false", message: a}]
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: other}
spec: {rules: [{name: a, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: a, deny: {}}}]}
`

// TestProtected: the guard cannot protect its webhook, configurations, flags, policies and
// processes itself. Only the named administrators can change them, with any RBAC.
func TestProtected(t *testing.T) {
	manifests := installation{overlay: "self-managed"}.build(t)
	apply(t, manifests)
	t.Cleanup(func() { withdraw(t, manifests) })
	apply(t, kyvernoDeployment)
	deleteAfter(t, "/apis/apps/v1/namespaces/kyverno/deployments/kyverno-admission-controller")
	const stores = "patch customresourcedefinition policyexceptions.kyverno.io --subresource=status --type=merge --patch {\"status\":{\"storedVersions\":[%s]}}"
	mustKubectl(t, "", strings.Fields(fmt.Sprintf(stores, `"v2","v2beta1"`))...)
	t.Cleanup(func() { kubectlAfterwards(t, strings.Fields(fmt.Sprintf(stores, `"v2"`))...) })
	protect(t, administrators{groups: "['nobody-else', '" + administratorGroup + "']", users: "['" + administratorAccount + "']"}, administrator)
	for _, tc := range attempts {
		t.Run(tc.name, func(t *testing.T) {
			args := tc.args()
			err := refusesIt(stranger.does(t, tc.input, args...))
			expect.That(t, err == nil, "a stranger: %v", err)
			for _, p := range []person{administrator, gitops} {
				err := p.does(t, tc.input, args...)
				expect.That(t, err == nil, "%s: %v", p.name, err)
			}
		})
	}
	t.Run("all at once", protectsFromSweeps)
	t.Run("inside", protectsFromWithin)
	t.Run("others go on", leavesOthersAlone)
	t.Run("certificates", protectsFromCertifiers)
	t.Run("nobody named", protectsWithoutAdministrators)
}

// attempt is a command of kubectl, with a merge patch or an input. want is a part of its rejection.
type attempt struct{ name, command, patch, input, want string }

// args returns the arguments of kubectl, for a dry run where there is one.
func (a attempt) args() []string {
	args := strings.Fields(a.command)
	if !strings.HasPrefix(a.command, "create token") && !strings.HasPrefix(a.command, "get") {
		args = append(args, "--dry-run=server")
	}
	if a.patch != "" {
		args = append(args, "--type=merge", "--patch", a.patch)
	}
	if a.input != "" {
		args = append(args, "-f", "-")
	}
	return args
}

// attempts lists attacks of a stranger. An administrator may do each of them.
var attempts = []attempt{
	{name: "the webhook goes", command: "delete validatingwebhookconfiguration polex-guard"},
	{name: "the webhook fails open", command: "patch validatingwebhookconfiguration polex-guard", patch: `{"webhooks":[]}`},
	{name: "the configuration is another", command: "patch configmap polex-guard -n polex-system", patch: `{"data":{"config.yaml":"x"}}`},
	{name: "the configuration goes", command: "delete configmap polex-guard -n polex-system"},
	{name: "the certificate is another", command: "patch secret polex-guard-tls -n polex-system", patch: `{"stringData":{"tls.crt":"x"}}`},
	{name: "no replicas", command: "scale deployment polex-guard -n polex-system --replicas=0"},
	{name: "another image", command: "set image deployment/polex-guard -n polex-system guard=other"},
	{name: "the Deployment goes", command: "delete deployment polex-guard -n polex-system"},
	{name: "the Service leads elsewhere", command: "patch service polex-guard -n polex-system", patch: `{"spec":{"selector":{"a":"b"}}}`},
	{name: "the network is cut", command: "delete networkpolicy polex-guard -n polex-system"},
	{name: "the namespace goes", command: "delete namespace polex-system"},
	{name: "the namespace enforces nothing", command: "label namespace polex-system pod-security.kubernetes.io/enforce=privileged --overwrite"},
	{name: "a Pod that mounts the certificate", command: "create", input: stowaway},
	{name: "a Job that makes such a Pod", command: "create", input: `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: polex-system}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}`},
	{name: "a role for others", command: "create role a -n polex-system --verb=get --resource=secrets"},
	{name: "the right to delete goes", command: "delete clusterrole polex-guard"},
	{name: "its rights are bound to nobody", command: "delete clusterrolebinding polex-guard"},
	{name: "Kyverno's policy goes", command: "delete clusterpolicy polex-test"},
	{name: "Kyverno's policy is another", command: "patch clusterpolicy polex-test", patch: `{"spec":{"background":false}}`},
	{name: "the policy of the other group goes", command: "delete validatingpolicies.policies.kyverno.io polex-test"},
	{name: "Kyverno's resource filters", command: "patch configmap kyverno -n kyverno", patch: `{"data":{"resourceFilters":"[*,*,*]"}}`},
	{name: "Kyverno's flags", command: "set env deployment/kyverno-admission-controller -n kyverno A=b"},
	{name: "Kyverno without replicas", command: "scale deployment kyverno-admission-controller -n kyverno --replicas=0"},
	{name: "Kyverno goes", command: "delete deployment kyverno-admission-controller -n kyverno"},
	{name: "a webhook converts exceptions", command: "patch customresourcedefinition policyexceptions.kyverno.io",
		patch: `{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/"}}}}}`},
	{name: "the API server admits exceptions under another name", command: "patch customresourcedefinition policyexceptions.kyverno.io --subresource=status",
		patch: `{"status":{"acceptedNames":{"plural":"things"}}}`},
	{name: "the API server reads no exceptions", command: "patch customresourcedefinition policyexceptions.kyverno.io --subresource=status", patch: `{"status":{"acceptedNames":{"listKind":""}}}`},
	{name: "it reads no exceptions of the other group", command: "patch customresourcedefinition policyexceptions.policies.kyverno.io --subresource=status", patch: `{"status":{"acceptedNames":{"singular":""}}}`},
	{name: "no stored version is known", command: "patch customresourcedefinition policyexceptions.kyverno.io --subresource=status", patch: `{"status":{"storedVersions":["v2"]}}`},
	{name: "a definition is established twice", command: "patch customresourcedefinition policyexceptions.kyverno.io --subresource=status", patch: twice},
	{name: "Kyverno's version is not served", command: unserve("policyexceptions.kyverno.io", 0, "v2")},
	{name: "the definition of the other group is another", command: "label customresourcedefinition policyexceptions.policies.kyverno.io a=b"},
	{name: "Kyverno's definitions go", command: "delete customresourcedefinition clusterpolicies.kyverno.io"},
	{name: "another server answers for exceptions", command: "patch apiservice v2.kyverno.io",
		patch: `{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":null}},"spec":{"insecureSkipTLSVerify":true,"service":{"namespace":"default","name":"other","port":443}}}`},
	{name: "another server answers for webhooks", command: "create", input: apiService("v9", "admissionregistration.k8s.io", "service: {namespace: default, name: other}")},
	{name: "Kyverno's webhook is another", command: "patch validatingwebhookconfiguration kyverno-resource-validating-webhook-cfg", patch: `{"webhooks":[]}`},
	{name: "one more webhook of Kyverno", command: "create", input: webhookOf("Validating", "kyverno-more", "pods", "")},
	{name: "Kyverno's role is another", command: "create clusterrole kyverno:admission-controller:core --verb=get --resource=pods"},
	{name: "Kyverno's role is bound to others", command: "create clusterrolebinding kyverno:others --clusterrole=view --user=mallory"},
	{name: "Kyverno's certificate", command: "create secret generic kyverno-svc.kyverno.svc.kyverno-tls-pair -n kyverno"},
	{name: "Kyverno's Service leads elsewhere", command: "create service externalname kyverno-svc -n kyverno --external-name=other"},
	{name: "somebody else answers as Kyverno", command: "create", input: `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a, namespace: kyverno, labels: {kubernetes.io/service-name: kyverno-svc}}, addressType: IPv4, endpoints: []}`},
	{name: "a Pod that acts as Kyverno", command: "run a -n kyverno --image=a --restart=Never"},
	{name: "a role for others in Kyverno's namespace", command: "create role a -n kyverno --verb=get --resource=secrets"},
	{name: "others get a role in Kyverno's namespace", command: "create rolebinding a -n kyverno --clusterrole=admin --user=mallory"},
	{name: "Kyverno's namespace goes", command: "delete namespace kyverno"},
	{name: "a webhook changes the configuration", command: "create", input: webhookOf("Mutating", "labels", "configmaps", "")},
	{name: "a webhook changes everything", command: "create", input: webhookOf("Mutating", "labels", "'*'", "namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}]}")},
	{name: "a webhook changes the configuration, with subresources", command: "create", input: webhookOf("Mutating", "labels", "configmaps/*", "")},
	{name: "a webhook changes the Lease", command: "create", input: strings.Replace(webhookOf("Mutating", "labels", "leases/*", ""), "apiGroups: ['']", "apiGroups: [coordination.k8s.io]", 1)},
	{name: "a webhook by another label", command: "create", input: webhookOf("Mutating", "labels", "secrets", "namespaceSelector: {matchLabels: {pod-security.kubernetes.io/enforce: restricted}}")},
	{name: "a webhook of that name", command: "create", input: webhookOf("Mutating", "labels", "secrets", "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: polex-system}}")},
	{name: "a policy changes the configuration", command: "create", input: mutation(`match: {any: [{resources: {kinds: [ConfigMap], names: [polex-guard], namespaces: [polex-system]}}]}`)},
	{name: "a policy changes everything", command: "create", input: strings.Replace(mutation(`match: {all: [{resources: {kinds: ['*']}}]}`), "{data: {a: b}}", "{metadata: {labels: {a: b}}}", 1)},
	{name: "a policy changes Secrets by a pattern", command: "create", input: mutation(`match: {any: [{resources: {kinds: [Pod]}}, {resources: {kinds: [v1/Secret], namespaces: ['polex-*']}}]}`)},
	{name: "a policy excludes too little", command: "create", input: mutation(`match: {any: [{resources: {kinds: [Lease]}}]}, exclude: {any: [{resources: {namespaces: [polex-system], names: [a]}}]}`)},
	{name: "a policy of the other group changes the configuration", command: "create", input: mutatingPolicy("configmaps", "")},
	{name: "a policy of the other group, with subresources", command: "create", input: mutatingPolicy("configmaps/*", "")},
	{name: "a webhook in Kyverno's name", command: "create", input: webhookOf("Mutating", "kyverno-labels", "pods", "")},
}

// webhookOf returns a webhook configuration for resources, with further fields.
func webhookOf(kind, name, resources, more string) string {
	return fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: %sWebhookConfiguration, metadata: {name: %s}, webhooks: [{name: a.example.com,
clientConfig: {url: "https://127.0.0.1:1/"}, sideEffects: None, admissionReviewVersions: [v1],
rules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [%s]}], %s}]}`, kind, name, resources, more)
}

// mutation returns a Kyverno policy with one rule that changes matching objects.
func mutation(rule string) string {
	return fmt.Sprintf(`{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: labels}, spec: {background: false, rules: [{name: a, %s, mutate: {patchStrategicMerge: {data: {a: b}}}}]}}`, rule)
}

// mutatingPolicy returns one of the other group.
func mutatingPolicy(resource, more string) string {
	return fmt.Sprintf(`{apiVersion: policies.kyverno.io/v1, kind: MutatingPolicy, metadata: {name: labels}, spec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [%s]}]%s},
mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{}'}}]}}`, resource, more)
}

// apiService returns an APIService with the server for a group.
func apiService(name, group, by string) string {
	version, _, _ := strings.Cut(name, ".")
	return fmt.Sprintf(`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: %s.%s}, spec: {group: %s, version: %s, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, %s}}`,
		version, group, group, version, by)
}

const stowaway = `
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: polex-system}
spec:
  securityContext: {runAsNonRoot: true, runAsUser: 1, seccompProfile: {type: RuntimeDefault}}
  containers: [{name: a, image: a, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]
`

// protectsFromSweeps: a request that deletes all objects of a kind names no object. It is rejected
// if one of them is protected.
func protectsFromSweeps(t *testing.T) {
	for _, path := range []string{webhooks, "/apis/rbac.authorization.k8s.io/v1/clusterroles?labelSelector=a%21%3Db&fieldSelector=metadata.name%3Dpolex-guard",
		"/api/v1/namespaces/polex-system/configmaps", "/apis/kyverno.io/v1/clusterpolicies?fieldSelector=metadata.name%3Dpolex-test",
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions?fieldSelector=metadata.name%3Dpolicyexceptions.kyverno.io"} {
		body := []byte(`{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}`)
		answer := must.Get(live.Do(t.Context(), cluster.Request{Method: http.MethodDelete, Path: path, Body: body,
			ContentType: "application/json", As: stranger.name, Groups: []string{"omnipotents"}}))(t)
		if answer.OK() || !strings.Contains(answer.Message(), notAmong) {
			t.Errorf("%s: %d: %s", path, answer.Code, answer.Message())
		}
	}
}

// protectsFromWithin: only administrators can open a session in a guard's Pod or use the proxy of its Service.
func protectsFromWithin(t *testing.T) {
	for _, path := range []string{"/pods/polex-guard-0/exec?command=a&stdout=true", "/pods/polex-guard-0/attach?stdout=true", "/pods/polex-guard-0/portforward?ports=6060", "/services/polex-guard:8080/proxy/metrics"} {
		for _, tc := range []struct {
			who     person
			refused bool
		}{{stranger, true}, {administrator, false}} {
			answer := must.Get(live.Do(t.Context(), cluster.Request{Method: http.MethodPost,
				Path: "/api/v1/namespaces/" + guardNamespace + path, As: tc.who.name, Groups: append(tc.who.groups,
					"omnipotents")}))(t)
			expect.Is(t, fmt.Sprintf("%s: %s: %d: %s", tc.who.name, path, answer.Code, answer.Message()),
				tc.refused, strings.Contains(answer.Message(), notAmong))
		}
	}
}

// leavesOthersAlone: the policies do not affect other objects, nor the work of the cluster in the
// guard's namespace. Nobody may use that to act as the guard or as Kyverno.
func leavesOthersAlone(t *testing.T) {
	kubelet := person{name: "system:node:a", groups: []string{"system:nodes"}}
	controller := person{name: "system:serviceaccount:kube-system:replicaset-controller", groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system"}}
	guard := person{name: account}
	kyvernoItself := person{name: "system:serviceaccount:kyverno:kyverno-admission-controller", groups: []string{"system:serviceaccounts", "system:serviceaccounts:kyverno"}}
	background := person{name: "system:serviceaccount:kyverno:kyverno-background-controller", groups: kyvernoItself.groups}
	const token = `{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: kyverno, annotations: {kubernetes.io/service-account.name: kyverno-admission-controller}}, type: kubernetes.io/service-account-token}`
	const lease = `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: a, namespace: polex-system}}`
	const event = `{apiVersion: v1, kind: Event, metadata: {name: a, namespace: polex-system}, involvedObject: {namespace: polex-system}}`
	type action struct {
		who            person
		command, input string
	}
	for refused, actions := range map[bool][]action{false: {
		{stranger, "patch clusterpolicy other --type=merge --patch {\"spec\":{\"background\":false}}", ""},
		{stranger, "delete clusterpolicy other", ""},
		{stranger, "create configmap a -n default", ""},
		{stranger, "create clusterrole a --verb=get --resource=pods", ""},
		{stranger, "create", event},
		{kubelet, "create token polex-guard -n polex-system", ""},
		{controller, "create", stowaway},
		{guard, "create", lease},
		{stranger, "create", webhookOf("Mutating", "labels", "pods", "")},
		{stranger, "create", webhookOf("Mutating", "labels", "configmaps", "namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, polex-system]}]}")},
		{stranger, "create", webhookOf("Mutating", "labels", "secrets", "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: default}}")},
		{stranger, "create", webhookOf("Validating", "labels", "configmaps", "")},
		{stranger, "create", mutation(`match: {any: [{resources: {kinds: [Pod, SealedSecret]}}]}`)},
		{stranger, "create", mutation(`match: {any: [{resources: {kinds: [ConfigMap], namespaces: ['team-*']}}]}`)},
		{stranger, "create", mutation(`match: {any: [{resources: {kinds: [ConfigMap]}}]}, exclude: {any: [{resources: {namespaces: [polex-system]}}]}`)},
		{stranger, "create", mutatingPolicy("pods", "")},
		{stranger, "create", mutatingPolicy("configmaps/status", "")},
		{stranger, "create", mutatingPolicy("secrets", ", namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [polex-system]}]}")},
		{stranger, "create", apiService("v1", "metrics.example.com", "service: {namespace: default, name: other}")},
		{stranger, "label customresourcedefinition policyreports.wgpolicyk8s.io a=b", ""},
		{stranger, "patch customresourcedefinition policyexceptions.kyverno.io --subresource=status --type=merge --patch {\"status\":{\"storedVersions\":[\"v2\",\"v2beta1\"]}}", ""},
		{kyvernoItself, "patch customresourcedefinition policyexceptions.kyverno.io --subresource=status --type=merge --patch {\"status\":{\"storedVersions\":[\"v2\"]}}", ""},
		{stranger, "create", strings.ReplaceAll(event, "polex-system", "kyverno")},
		{kubelet, "create token kyverno-admission-controller -n kyverno", ""},
		{controller, "run a -n kyverno --image=a --restart=Never", ""},
		{controller, "create", `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a, namespace: kyverno}, addressType: IPv4, endpoints: []}`},
		{kyvernoItself, "create secret generic a -n kyverno", ""},
		{kyvernoItself, "create", strings.ReplaceAll(lease, "polex-system", "kyverno")},
		{kyvernoItself, "create", webhookOf("Validating", "kyverno-more", "pods", "")},
		{kyvernoItself, "create", webhookOf("Mutating", "kyverno-more", "configmaps", "")},
		{background, "create", strings.ReplaceAll(lease, "polex-system", "kyverno")},
	}, true: {
		{stranger, "create token polex-guard -n polex-system", ""},
		{stranger, "create token kyverno-admission-controller -n kyverno", ""},
		{kyvernoItself, "create configmap a -n kyverno", ""},
		{kyvernoItself, "delete validatingwebhookconfiguration polex-guard", ""},
		{kyvernoItself, "create clusterrole kyverno:others --verb=get --resource=pods", ""},
		{kyvernoItself, "create", webhookOf("Mutating", "labels", "configmaps", "")},
		{kyvernoItself, "create", token},
		{background, "create", token},
		{background, "create", "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: kyverno}}"},
		{background, "create", webhookOf("Mutating", "kyverno-more", "configmaps", "")},
		{guard, "delete configmap polex-guard -n polex-system", ""},
	}} {
		for _, tc := range actions {
			err := tc.who.does(t, tc.input, attempt{command: tc.command, input: tc.input}.args()...)
			if refused {
				err = refusesIt(err)
			}
			expect.That(t, err == nil, "%s: %s: %v\n%s", tc.who.name, tc.command, err, tc.input)
		}
	}
}

// protectsFromCertifiers: a user who may write certificates can write nothing else.
func protectsFromCertifiers(t *testing.T) {
	definedCertificates(t)
	bundle := `[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":"` + base64.StdEncoding.EncodeToString(certify(t, t.TempDir())) + `"}]`
	patch := func(who, kind, object, patch string) error {
		return person{name: who}.does(t, "", "patch", object, "-n", guardNamespace, "--type", kind, "--patch", patch, "--dry-run=server")
	}
	for _, tc := range []struct {
		name string
		err  error
		may  bool
	}{
		{"the injector's bundle", patch(injector, "json", "validatingwebhookconfiguration/polex-guard", bundle), true},
		{"the certificate's Secret", patch(certManager, "merge", "secret/polex-guard-tls", `{"stringData":{"tls.crt":"x"}}`), true},
		{"failing open", patch(injector, "merge", "validatingwebhookconfiguration/polex-guard", `{"webhooks":[]}`), false},
		{"no rules", patch(injector, "json", "validatingwebhookconfiguration/polex-guard", `[{"op":"replace","path":"/webhooks/0/rules","value":[]}]`), false},
		{"failing open by its policy", patch(injector, "json", "validatingwebhookconfiguration/polex-guard", `[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]`), false},
		{"another service", patch(injector, "json", "validatingwebhookconfiguration/polex-guard", `[{"op":"replace","path":"/webhooks/0/clientConfig/service/name","value":"other"}]`), false},
		{"a condition", patch(injector, "json", "validatingwebhookconfiguration/polex-guard", `[{"op":"add","path":"/webhooks/0/matchConditions","value":[{"name":"a","expression":"false"}]}]`), false},
		{"a namespace left out", patch(injector, "json", "validatingwebhookconfiguration/polex-guard", `[{"op":"replace","path":"/webhooks/0/namespaceSelector","value":{"matchLabels":{"a":"b"}}}]`), false},
		{"an object left out", patch(injector, "json", "validatingwebhookconfiguration/polex-guard", `[{"op":"replace","path":"/webhooks/0/objectSelector","value":{"matchLabels":{"a":"b"}}}]`), false},
		{"the configuration", patch(certManager, "merge", "configmap/polex-guard", `{"data":{"config.yaml":"x"}}`), false},
		{"a bundle by a stranger", patch(stranger.name, "json", "validatingwebhookconfiguration/polex-guard", bundle), false},
		{"deleting the webhook", person{name: injector}.does(t, "", "delete", "validatingwebhookconfiguration", "polex-guard", "--dry-run=server"), false},
		{"deleting the Secret", person{name: certManager}.does(t, "", "delete", "secret", "polex-guard-tls", "-n", guardNamespace, "--dry-run=server"), false},
	} {
		switch {
		case tc.may && tc.err != nil:
			t.Errorf("%s: %v", tc.name, tc.err)
		case !tc.may && (tc.err == nil || !strings.Contains(tc.err.Error(), notAmong)):
			t.Errorf("%s is not refused: %v", tc.name, tc.err)
		}
	}
}

// protectsWithoutAdministrators: in the delivered form no administrator is named, so nobody may change the objects. A
// user who may write policies is not locked out: naming administrators takes effect.
func protectsWithoutAdministrators(t *testing.T) {
	k := administrators{groups: "['" + administratorGroup + "']"}
	for _, tc := range []struct {
		named administrators
		want  func(error) error
	}{{administrators{}, refusesIt}, {k, func(err error) error { return err }}, {administrators{}, refusesIt}} {
		apply(t, tc.named.build(t))
		for _, p := range protected {
			until(t, "what is named to count for "+p.object, func(context.Context) error { return tc.want(administrator.touches(t, p.object, p.namespace)) })
		}
	}
	err := gitops.touches(t, protected[0].object, "")
	expect.That(t, refusesIt(err) == nil, "who is not named any more: %v", err)
}
