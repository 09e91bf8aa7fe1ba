//go:build e2e

package cleanup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/e2e/cluster"
)

// policies has the API paths of the kinds of cleanup policies.
var policies = map[lifetime.CleanupForm]string{
	lifetime.DeletingPolicy:       "/apis/policies.kyverno.io/v1/deletingpolicies",
	lifetime.ClusterCleanupPolicy: "/apis/kyverno.io/v2/clustercleanuppolicies",
}

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

// clean creates the policy for an exception, and returns its path.
func clean(t *testing.T, form lifetime.CleanupForm, text string) string {
	t.Helper()
	doc, err := exception.Parse([]byte(text), "exception")
	if err != nil {
		t.Fatal(err)
	}
	policy, err := lifetime.CleanupPolicy(doc, form, lifetime.Terms{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	answer, err := live.Do(t.Context(), cluster.Request{Method: http.MethodPost, Path: policies[form] + "?fieldValidation=Strict", Body: policy})
	if err != nil || answer.Code != http.StatusCreated {
		t.Fatalf("%v, %s\n%s", err, answer.Message(), policy)
	}
	var stored struct{ Metadata struct{ Name string } }
	if err := json.Unmarshal(answer.Body, &stored); err != nil {
		t.Fatal(err)
	}
	return policies[form] + "/" + stored.Metadata.Name
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

// TestPolicies: Kyverno deletes the exception of a policy after its expiry. It does not delete a
// new exception of the same name, nor one that expires in another year at the same minute, for
// which cron runs too.
func TestPolicies(t *testing.T) {
	end := time.Now().Add(20 * time.Second).Truncate(time.Second)
	next := end.AddDate(1, 0, 0)
	zone := time.FixedZone("", 5*3600+1800)
	forms := map[string]lifetime.CleanupForm{"deleting": lifetime.DeletingPolicy, "cleanup": lifetime.ClusterCleanupPolicy}
	var fired []string
	for _, target := range targets {
		for prefix, form := range forms {
			states := func(name string, at time.Time) string {
				return exceptionOf(target, prefix+name, at.Format(time.RFC3339), "")
			}
			ended := states("-ended", end.In(zone))
			store(t, target, ended)
			store(t, target, states("-successor", next.UTC()))
			later := states("-later", next.UTC())
			store(t, target, later)
			fired = append(fired, clean(t, form, ended), clean(t, form, states("-successor", end.UTC())), clean(t, form, later))
		}
	}
	for _, target := range targets {
		for prefix := range forms {
			until(t, "the end", func(ctx context.Context) error { return is(ctx, target, prefix+"-ended", false) })
			if now := time.Now(); now.Before(end) {
				t.Errorf("%s %s-ended went %s too soon", target.Group, prefix, end.Sub(now))
			}
		}
	}
	for _, path := range fired {
		until(t, "every policy to have been carried out", func(ctx context.Context) error { return carriedOut(ctx, path) })
	}
	for _, target := range targets {
		for prefix := range forms {
			for _, name := range []string{"-successor", "-later"} {
				if err := is(t.Context(), target, prefix+name, true); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// carriedOut returns an error until the controller has run a policy.
func carriedOut(ctx context.Context, path string) error {
	answer, err := live.Do(ctx, cluster.Request{Method: http.MethodGet, Path: path})
	if err == nil && !strings.Contains(string(answer.Body), `"lastExecutionTime":"20`) {
		err = errors.New(path + " was not carried out")
	}
	return err
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
