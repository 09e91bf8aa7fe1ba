//go:build e2e

package cleanup

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/test/e2e/cluster"
)

// waitLimit is the timeout for expected events; cron has a resolution of minutes.
const waitLimit = 4 * time.Minute

var targets = []cluster.Target{{Group: "kyverno.io", Version: "v2", Namespace: "default"}, {Group: "policies.kyverno.io", Version: "v1", Namespace: "default"}}

// exceptionOf returns an exception with an expiry, in the form of its group.
func exceptionOf(target cluster.Target, name, end, labels string) string {
	if target.Group == exception.PoliciesGroup {
		return fmt.Sprintf(`apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: %s, namespace: default, labels: {%s}}
spec:
  expiresAt: %q
  policyRefs: [{name: require-probes, kind: ValidatingPolicy}]
  matchConditions: [{name: web, expression: object.metadata.name == 'web'}]
`, name, labels, end)
	}
	return fmt.Sprintf(`apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: %s, namespace: default, labels: {%s}, annotations: {polex.dev/expires-at: %q}}
spec:
  exceptions: [{policyName: require-probes, ruleNames: [check]}]
  match: {any: [{resources: {kinds: [Pod], names: [web-*], namespaces: [team-a]}}]}
`, name, labels, end)
}

// store creates an exception.
func store(t *testing.T, target cluster.Target, text string) {
	t.Helper()
	answer, err := live.Create(t.Context(), target, []byte(text))
	if err != nil || answer.Code != http.StatusCreated {
		t.Fatalf("%v, %s\n%s", err, answer.Message(), text)
	}
}

// is returns an error unless an exception exists, or does not exist.
func is(ctx context.Context, target cluster.Target, name string, there bool) error {
	answer, err := live.Do(ctx, cluster.Request{Method: http.MethodGet, Path: target.Path(name)})
	switch {
	case err != nil:
		return err
	case there && answer.Code != http.StatusOK, !there && answer.Code != http.StatusNotFound:
		return fmt.Errorf("%s %s: %d", target.Group, name, answer.Code)
	}
	return nil
}

func until(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	if err := live.Until(ctx, what, ask); err != nil {
		t.Fatal(err)
	}
}

// TestLabel: Kyverno reads the same time in the label as polex.
func TestLabel(t *testing.T) {
	end := time.Now().Add(10 * time.Second)
	for _, target := range targets {
		for name, at := range map[string]time.Time{"label-ended": end, "label-later": end.Add(time.Hour)} {
			text := exceptionOf(target, name, at.UTC().Format(time.RFC3339Nano), exception.LabelTTL+": "+lifetime.FormatTTL(at))
			doc, err := exception.Parse([]byte(text), "exception")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := lifetime.Of(doc, lifetime.Terms{}); err != nil {
				t.Fatal(err)
			}
			store(t, target, text)
		}
	}
	for _, target := range targets {
		until(t, "the end", func(ctx context.Context) error { return is(ctx, target, "label-ended", false) })
		if now := time.Now(); now.Before(end) {
			t.Errorf("%s went %s too soon", target.Group, end.Sub(now))
		}
	}
	for _, target := range targets {
		if err := is(t.Context(), target, "label-later", true); err != nil {
			t.Error(err)
		}
	}
}
