//go:build e2e

package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/test/e2e/cluster"
)

// draft describes an exception for a test.
type draft struct {
	name, namespace string
	lives           time.Duration // 0 is an hour
	annotations     string        // more of them, as YAML flow: ", a: b"
	policy          string        // "" is require-probes
	kind            string        // the exempted kind; "" is Pod
}

func (d draft) fill() draft {
	if d.lives == 0 {
		d.lives = time.Hour
	}
	if d.policy == "" {
		d.policy = "require-probes"
	}
	if d.kind == "" {
		d.kind = "Pod"
	}
	return d
}

// legacy returns its YAML for kyverno.io.
func (d draft) legacy(version string) string {
	d = d.fill()
	return fmt.Sprintf(`apiVersion: kyverno.io/%s
kind: PolicyException
metadata:
  name: %s
  namespace: %s
  annotations: {polex.dev/reason: no health endpoint, polex.dev/expires-in: %s%s}
spec:
  exceptions: [{policyName: %s, ruleNames: [check]}]
  match: {any: [{resources: {kinds: [%s], names: [web-*], namespaces: [team-a]}}]}
`, version, d.name, d.namespace, short(d.lives), d.annotations, d.policy, d.kind)
}

// policies returns its YAML for policies.kyverno.io.
func (d draft) policies(version string) string {
	d = d.fill()
	return fmt.Sprintf(`apiVersion: policies.kyverno.io/%s
kind: PolicyException
metadata:
  name: %s
  namespace: %s
  annotations: {polex.dev/reason: no health endpoint, polex.dev/expires-in: %s%s}
spec:
  policyRefs: [{name: %s, kind: ValidatingPolicy}]
  matchConditions: [{name: web, expression: object.metadata.name == 'web'}]
  reportResult: skip
`, version, d.name, d.namespace, short(d.lives), d.annotations, d.policy)
}

// in returns its YAML for a group and version.
func (d draft) in(t cluster.Target) string {
	if t.Group == exception.PoliciesGroup {
		return d.policies(t.Version)
	}
	return d.legacy(t.Version)
}

func short(d time.Duration) string {
	text := d.String()
	for _, none := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, none) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// seal signs drafts as the merge workflow that the guard trusts.
func seal(t *testing.T, drafts ...string) []string {
	t.Helper()
	return sealAs(t, sandbox.Identity{}, drafts...)
}

// sealAs signs drafts as a given workflow.
func sealAs(t *testing.T, id sandbox.Identity, drafts ...string) []string {
	t.Helper()
	return sandboxtest.Files(t, box, id, time.Now(), drafts...)
}

// response is the API server's answer.
type response struct{ *cluster.Answer }

// do sends a request; without an answer the test fails.
func do(t *testing.T, r cluster.Request) response {
	t.Helper()
	answer, err := live.Do(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return response{answer}
}

func (r response) want(t *testing.T, code int) {
	t.Helper()
	if r.Code != code {
		t.Fatalf("%d, want %d: %s", r.Code, code, r.Message())
	}
}

// refusedFor expects a rejection by the guard, with a reason.
func (r response) refusedFor(t *testing.T, reason string) {
	t.Helper()
	if err := refused(r.Answer, reason); err != nil {
		t.Fatal(err)
	}
}

// refused returns an error unless the answer is a rejection by the guard with the reason.
func refused(answer *cluster.Answer, reason string) error {
	if answer.OK() || !strings.Contains(answer.Message(), `admission webhook "guard.polex.dev" denied the request: [`+reason+"] ") {
		return fmt.Errorf("%d, want a refusal for %q: %s", answer.Code, reason, answer.Message())
	}
	return nil
}

// create creates an exception.
func create(t *testing.T, target cluster.Target, text string) response {
	t.Helper()
	answer, err := live.Create(t.Context(), target, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return response{answer}
}

// namespace makes a namespace for a test, and returns its name.
func namespace(t *testing.T) string {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	if err := live.CreateNamespace(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, group := range []cluster.Target{served[0], served[2]} {
			group.Namespace = name
			_, _ = live.Do(context.Background(), cluster.Request{Method: http.MethodDelete, Path: group.Path("")})
		}
	})
	return name
}

// endOf returns the expiry of a signed exception.
func endOf(t *testing.T, sealed string) time.Time {
	t.Helper()
	doc, err := exception.Parse([]byte(sealed), "sealed")
	if err != nil {
		t.Fatal(err)
	}
	life, err := lifetime.Of(doc, lifetime.Terms{})
	if err != nil || life.ExpiresAt.IsZero() {
		t.Fatalf("%v: it has no end", err)
	}
	return life.ExpiresAt
}

func decodeAnswer(answer *cluster.Answer, into any) error {
	if !answer.OK() {
		return errors.New(answer.Message())
	}
	return json.Unmarshal(answer.Body, into)
}

// widened returns a signed exception with another policy than the signed one.
func widened(t *testing.T, sealed string) string {
	t.Helper()
	wide := strings.Replace(sealed, "require-probes", "require-limits", 1)
	if wide == sealed {
		t.Fatal("there is nothing to widen")
	}
	return wide
}
