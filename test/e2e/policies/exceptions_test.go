//go:build e2e

package policies

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/e2e/cluster"
)

// served are the versions of PolicyException that the API server serves.
var served = []cluster.Target{
	{Group: exception.KyvernoGroup, Version: "v2", Namespace: "default"}, {Group: exception.KyvernoGroup, Version: "v2beta1", Namespace: "default"},
	{Group: exception.PoliciesGroup, Version: "v1", Namespace: "default"}, {Group: exception.PoliciesGroup, Version: "v1beta1", Namespace: "default"},
	{Group: exception.PoliciesGroup, Version: "v1alpha1", Namespace: "default"},
}

// groups are one version of each API group.
var groups = []cluster.Target{served[0], served[2]}

// exceptionOf returns an exception with an expiry, in the form of its group.
func exceptionOf(target cluster.Target, name, end string) string {
	head := fmt.Sprintf("apiVersion: %s/%s\nkind: PolicyException\n", target.Group, target.Version)
	if target.Group == exception.PoliciesGroup {
		if end != "" {
			end = fmt.Sprintf("  expiresAt: %q\n", end)
		}
		return head + fmt.Sprintf("metadata: {name: %s, namespace: %s}\nspec:\n%s", name, target.Namespace, end) + `  policyRefs: [{name: require-probes, kind: ValidatingPolicy}]
  matchConditions: [{name: web, expression: object.metadata.name == 'web'}]
`
	}
	return head + annotated(target, name, end) + `spec:
  exceptions: [{policyName: require-probes, ruleNames: [check]}]
  match: {any: [{resources: {kinds: [Pod], names: [web-*], namespaces: [team-a]}}]}
`
}

func annotated(target cluster.Target, name, end string) string {
	annotations := ""
	if end != "" {
		annotations = fmt.Sprintf(", annotations: {%s: %q}", exception.AnnotationExpiresAt, end)
	}
	return fmt.Sprintf("metadata: {name: %s, namespace: %s%s}\n", name, target.Namespace, annotations)
}

// store creates an exception, and deletes it after the test.
func store(t *testing.T, target cluster.Target, name, end string) {
	t.Helper()
	text := exceptionOf(target, name, end)
	answer, err := live.Create(t.Context(), target, []byte(text))
	if err != nil || answer.Code != http.StatusCreated {
		t.Fatalf("%v, %s\n%s", err, answer.Message(), text)
	}
	t.Cleanup(func() {
		_, _ = live.Do(context.Background(), cluster.Request{Method: http.MethodDelete, Path: target.Path(name)})
	})
}

// person is a user.
type person struct {
	name   string
	groups []string
}

// creates creates an exception in a dry run.
func (p person) creates(ctx context.Context, target cluster.Target) (*cluster.Answer, error) {
	return live.Do(ctx, cluster.Request{
		Method: http.MethodPost, Path: target.Path("") + "?dryRun=All&fieldValidation=Strict",
		Body: []byte(exceptionOf(target, "tried", "2030-01-01T00:00:00Z")), As: p.name, Groups: p.groups,
	})
}

// account returns a ServiceAccount as a user.
func account(namespace, name string) person {
	return person{strings.Join([]string{"system:serviceaccount", namespace, name}, ":"), []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}}
}
