//go:build e2e

package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// TestDoctor: a guard that is installed well is said to be, and each way to let
// something past it is named.
func TestDoctor(t *testing.T) {
	i := settings{}.run(t)
	if got := i.doctor(t, 1); !slices.Equal(got, []string{"exceptions-disabled", "no-webhook"}) {
		t.Errorf("without a webhook: %q", got)
	}
	i.register(t)
	if got := i.doctor(t, 0); !slices.Equal(got, []string{"exceptions-disabled"}) {
		t.Errorf("installed well: %q", got)
	}
	for _, tc := range []struct{ name, patch, mend, want string }{
		{"a version", `{"op":"replace","path":"/webhooks/0/rules/0/apiVersions","value":["v1","v2","v1beta1"]}`, `{"op":"replace","path":"/webhooks/0/rules/0/apiVersions","value":["*"]}`, "version-not-asked"},
		{"a group", `{"op":"replace","path":"/webhooks/0/rules/0/apiGroups","value":["kyverno.io"]}`, `{"op":"replace","path":"/webhooks/0/rules/0/apiGroups","value":["kyverno.io","policies.kyverno.io"]}`, "version-not-asked"},
		{"an operation", `{"op":"replace","path":"/webhooks/0/rules/0/operations","value":["CREATE","DELETE"]}`, `{"op":"replace","path":"/webhooks/0/rules/0/operations","value":["*"]}`, "version-not-asked"},
		{"a namespace", `{"op":"add","path":"/webhooks/0/namespaceSelector","value":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["kube-system"]}]}}`, `{"op":"replace","path":"/webhooks/0/namespaceSelector","value":{}}`, "namespace-hole"},
		{"an object", `{"op":"add","path":"/webhooks/0/objectSelector","value":{"matchLabels":{"guard":"me"}}}`, `{"op":"replace","path":"/webhooks/0/objectSelector","value":{}}`, "object-hole"},
		{"a condition", `{"op":"add","path":"/webhooks/0/matchConditions","value":[{"name":"a","expression":"true"}]}`, `{"op":"remove","path":"/webhooks/0/matchConditions"}`, "condition-hole"},
		{"failing open", `{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}`, `{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Fail"}`, "fails-open"},
		{"impatience", `{"op":"replace","path":"/webhooks/0/timeoutSeconds","value":5}`, `{"op":"replace","path":"/webhooks/0/timeoutSeconds","value":10}`, "timeout-too-short"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			change := func(patch string) {
				t.Helper()
				do(t, cluster.Request{Method: http.MethodPatch, Path: webhooks + "/polex-guard", ContentType: "application/json-patch+json", Body: []byte("[" + patch + "]")}).want(t, http.StatusOK)
			}
			change(tc.patch)
			if got := i.doctor(t, 1); !slices.Contains(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
			change(tc.mend)
			i.doctor(t, 0)
		})
	}
	// Another certificate than the API server was told to take.
	certify(t, i.dir)
	i.until(t, "the new certificate", func(context.Context) error {
		if got, _ := i.diagnosed(t); !slices.Contains(got, "bad-certificate") {
			return fmt.Errorf("it says %q", got)
		}
		return nil
	})
}

// doctor runs polex-guard check, which has to exit so, and returns the reasons of
// what is not fine.
func (i *instance) doctor(t *testing.T, status int) []string {
	t.Helper()
	reasons, got := i.diagnosed(t)
	if got != status {
		t.Fatalf("exit status %d, want %d: %q", got, status, reasons)
	}
	return reasons
}

func (i *instance) diagnosed(t *testing.T) (reasons []string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), folder+"/polex-guard", "check", "--config", i.config, "--kubeconfig", live.Kubeconfig(), "--namespace", "default", "-o", "json")
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
		t.Fatal(err)
	}
	for _, r := range report.Results {
		if r.Outcome != "passed" && !slices.Contains(reasons, r.Reason) {
			reasons = append(reasons, r.Reason)
		}
	}
	slices.Sort(reasons)
	return reasons, cmd.ProcessState.ExitCode()
}
