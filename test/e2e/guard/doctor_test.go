//go:build e2e

package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestDoctor: polex-guard check finds no problem in a correct installation, and names each way to bypass the guard.
func TestDoctor(t *testing.T) {
	i := settings{}.run(t)
	leads := i.leads
	i.until(t, "the guard to lead", leads)
	if got := i.doctor(t, 1); !slices.Equal(got, []string{"exceptions-disabled", "no-webhook", "not-protected"}) {
		t.Errorf("without a webhook: %q", got)
	}
	i.register(t)
	got := i.doctor(t, 0)
	expect.That(t, slices.Equal(got, []string{"exceptions-disabled", "not-protected"}), "installed well: %q", got)
	const rule, hook = "/webhooks/0/rules/0", "/webhooks/0"
	for _, tc := range []struct {
		name, at, value, mended string // JSON; "" removes
		want                    string
		warns                   bool
	}{
		{name: "a version", at: rule + "/apiVersions", value: `["v1","v2","v1beta1"]`, mended: `["*"]`, want: "version-not-asked"},
		{name: "a group", at: rule + "/apiGroups", value: `["kyverno.io"]`, mended: `["kyverno.io","policies.kyverno.io"]`, want: "version-not-asked"},
		{name: "an operation", at: rule + "/operations", value: `["CREATE"]`, mended: `["CREATE","UPDATE"]`, want: "version-not-asked"},
		{name: "deletions", at: "/webhooks/1/rules/0/apiVersions", value: `["v2"]`, mended: `["*"]`, want: "delete-not-asked", warns: true},
		{name: "deletions that fail closed", at: "/webhooks/1/failurePolicy", value: `"Fail"`, mended: `"Ignore"`, want: "deletes-fail-closed", warns: true},
		{name: "a namespace", at: hook + "/namespaceSelector", value: `{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["kube-system"]}]}`, mended: `{}`, want: "namespace-hole"},
		{name: "an object", at: hook + "/objectSelector", value: `{"matchLabels":{"guard":"me"}}`, mended: `{}`, want: "object-hole"},
		{name: "a condition", at: hook + "/matchConditions", value: `[{"name":"a","expression":"true"}]`, want: "condition-hole"},
		{name: "failing open", at: hook + "/failurePolicy", value: `"Ignore"`, mended: `"Fail"`, want: "fails-open"},
		{name: "impatience", at: hook + "/timeoutSeconds", value: `5`, mended: `10`, want: "timeout-too-short"},
		{name: "conversion", at: hook + "/matchPolicy", value: `"Equivalent"`, mended: `"Exact"`, want: "converts", warns: true},
		{name: "no bundle", at: hook + "/clientConfig/caBundle", value: `null`,
			mended: string(must.Get(json.Marshal(i.bundle))(t)), want: "bad-ca-bundle"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			patched(t, webhooks+"/polex-guard", "add", tc.at, tc.value)
			got := i.doctor(t, number(!tc.warns))
			expect.That(t, slices.Contains(got, tc.want), "%q, want %q", got, tc.want)
			operation := "replace"
			if tc.mended == "" {
				operation = "remove"
			}
			patched(t, webhooks+"/polex-guard", operation, tc.at, tc.mended)
			i.doctor(t, 0)
		})
	}
	for _, tc := range []struct {
		name, path, object, want string
		status                   int
	}{
		{name: "who changes exceptions", path: mutators, object: strings.NewReplacer("Validating", "Mutating", "name: polex-guard", "name: labels").Replace(i.registration("127.0.0.1")), want: "mutates"},
		{name: "who changes the configuration", path: mutators, object: webhookOf("Mutating", "labels", "configmaps/*", "failurePolicy: Ignore"), want: "mutates-guard", status: 1},
		{name: "who keeps exceptions", path: "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", object: keepsExceptions, want: "blocks-deletions"},
		{name: "Kyverno", path: "/apis/apps/v1/namespaces/kyverno/deployments", object: kyverno, want: "exceptions-from-everywhere", status: 1},
		{name: "what Kyverno may read", path: "/apis/apps/v1/namespaces/kyverno/deployments", object: kyverno, want: "kyverno-not-permitted", status: 1},
		{name: "who is served last", path: "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", object: lastSchema, want: "served-last"},
		{name: "who stops renewals", path: webhooks, object: strings.Replace(webhookOf("Validating", "keeps", "leases", ""), "apiGroups: ['']", "apiGroups: [coordination.k8s.io]", 1), want: "write-rejected", status: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			answer := post(t, tc.path, []byte(tc.object))
			answer.want(t, http.StatusCreated)
			got := i.doctor(t, tc.status)
			expect.That(t, slices.Contains(got, tc.want), "%q, want %q", got, tc.want)
			var created struct{ Metadata struct{ Name string } }
			must.Do(t, json.Unmarshal(answer.Body, &created))
			remove(t, tc.path+"/"+created.Metadata.Name).want(t, http.StatusOK)
		})
	}
	i.until(t, "the guard to lead again", leads)
	t.Run("the Lease of somebody else", func(t *testing.T) {
		const lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/polex-guard"
		i.until(t, "check to find it", func(context.Context) error { // the guard may renew it meanwhile
			patched(t, lease, "replace", "/spec/holderIdentity", `"somebody"`)
			got, _ := i.diagnosed(t, live.Kubeconfig())
			return expect.Unless(slices.Contains(got, "no-leader"), "it says %q", got)
		})
		i.until(t, "the guard to lead again", leads)
	})
	t.Run("what Kyverno reads", func(t *testing.T) {
		const definition, at = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/policyexceptions.kyverno.io", "/spec/versions/0"
		patched(t, definition, "test", at+"/name", `"v2"`)
		patched(t, definition, "replace", at+"/served", "false")
		got := i.doctor(t, 1)
		expect.That(t, slices.Contains(got, "version-not-served"), "%q", got)
		patched(t, definition, "replace", at+"/served", "true")
		i.until(t, "the version to be served", func(context.Context) error {
			got, _ := i.diagnosed(t, live.Kubeconfig())
			return expect.Unless(!slices.Contains(got, "version-not-served") && !slices.Contains(got, "undecided"),
				"it says %q", got)
		})
	})
	nobody := filepath.Join(t.TempDir(), "kubeconfig")
	if text, err := os.ReadFile(live.Kubeconfig()); err != nil {
		t.Fatal(err)
	} else if err := os.WriteFile(nobody, bytes.Replace(text, []byte("user: {"), []byte("user: {as: nobody, as-groups: [system:authenticated], "), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, status := i.diagnosed(t, nobody); status != 3 || !slices.Equal(got, []string{"not-permitted", "undecided"}) {
		t.Errorf("as nobody: %q, exit status %d", got, status)
	}
	// Another certificate than the one in the webhook.
	certify(t, i.dir)
	i.until(t, "the new certificate", func(context.Context) error {
		got, _ := i.diagnosed(t, live.Kubeconfig())
		return expect.Unless(slices.Contains(got, "bad-certificate"), "it says %q", got)
	})
}

const (
	mutators   = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
	lastSchema = `{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: FlowSchema, metadata: {name: last}, spec: {matchingPrecedence: 150,
  priorityLevelConfiguration: {name: catch-all}, rules: [{subjects: [{kind: ServiceAccount, serviceAccount: {namespace: kyverno, name: '*'}}],
  resourceRules: [{verbs: [watch], apiGroups: [kyverno.io], resources: [policyexceptions], namespaces: ['*']}]}]}}`
	// keepsExceptions is a policy without a binding.
	keepsExceptions = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: keeps}, spec: {matchConstraints: {resourceRules: [
{apiGroups: [kyverno.io], apiVersions: ["*"], operations: [DELETE], resources: [policyexceptions/*]}]}, validations: [{expression: "false"}]}}`
	// kyverno accepts exceptions in every namespace.
	kyverno = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: kyverno-admission-controller, namespace: kyverno}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: kyverno, image: kyverno, args: [--enablePolicyException=true, "--exceptionNamespace=*"]}]}
`
)

// patched changes one field of an object; the value is JSON.
func patched(t *testing.T, path, operation, at, value string) {
	t.Helper()
	if value == "" {
		value = "null"
	}
	do(t, cluster.Request{Method: http.MethodPatch, Path: path, ContentType: "application/json-patch+json",
		Body: fmt.Appendf(nil, `[{"op":%q,"path":%q,"value":%s}]`, operation, at, value)}).want(t, http.StatusOK)
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// doctor runs polex-guard check, expects an exit code, and returns the reasons of the problems.
func (i *instance) doctor(t *testing.T, status int) []string {
	t.Helper()
	reasons, got := i.diagnosed(t, live.Kubeconfig())
	must.That(t, got == status, "exit status %d, want %d: %q", got, status, reasons)
	return reasons
}

func (i *instance) diagnosed(t *testing.T, kubeconfig string) (reasons []string, status int) {
	t.Helper()
	return checked(t, "--config", i.config, "--kubeconfig", kubeconfig, "--namespace", "default")
}

// checked runs polex-guard check, and returns the reasons of the problems and the exit code.
func checked(t *testing.T, flags ...string) (reasons []string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), folder+"/polex-guard", append([]string{"check", "-o", "json"}, flags...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v\n%s%s", err, out, &stderr)
	}
	var report struct {
		Results []struct{ Outcome, Reason string }
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	for _, r := range report.Results {
		if r.Outcome != "passed" && !slices.Contains(reasons, r.Reason) {
			reasons = append(reasons, r.Reason)
		}
	}
	slices.Sort(reasons)
	return reasons, cmd.ProcessState.ExitCode()
}
