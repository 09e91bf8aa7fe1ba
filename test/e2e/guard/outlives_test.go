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

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// TestDependentHoldsNoDeletion: the deletion of an exception in the foreground, as Argo CD makes it,
// does not wait for the garbage collector, which does not run here. A dependent object with a
// finalizer would keep the exception, and Kyverno would apply it.
func TestDependentHoldsNoDeletion(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: namespace(t)}
	text := seal(t, draft{name: "held", namespace: target.Namespace, lives: time.Hour}.legacy("v2"))[0]
	create(t, target, text).want(t, http.StatusCreated)
	foreground := cluster.Request{Method: http.MethodDelete, Path: target.Path("held"), ContentType: "application/json",
		Body: []byte(`{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Foreground"}`)}
	do(t, foreground).want(t, http.StatusOK)
	i.until(t, "it to go", func(ctx context.Context) error { return gonePath(ctx, target.Path("held")) })
	i.until(t, "the Event", func(ctx context.Context) error {
		return contains(ctx, "/apis/events.k8s.io/v1/namespaces/"+target.Namespace+"/events", `"reason":"Removed"`)
	})
}

const definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/policyexceptions.kyverno.io"

// serveVersion makes the API server serve a version of kyverno.io, or not.
func serveVersion(t *testing.T, version string, is bool) {
	t.Helper()
	answer, err := live.Do(context.Background(), cluster.Request{Method: http.MethodGet, Path: definition})
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct{ Versions []struct{ Name string } }
	}
	if err := json.Unmarshal(answer.Body, &crd); err != nil {
		t.Fatal(err)
	}
	for n, v := range crd.Spec.Versions {
		if v.Name != version {
			continue
		}
		answer, err := live.Do(context.Background(), cluster.Request{Method: http.MethodPatch, Path: definition, ContentType: "application/json-patch+json",
			Body: fmt.Appendf(nil, `[{"op":"replace","path":"/spec/versions/%d/served","value":%v}]`, n, is)})
		if err != nil || !answer.OK() {
			t.Fatal(err, answer.Message())
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	target := cluster.Target{Group: "kyverno.io", Version: version, Namespace: "default"}
	if err := live.Until(ctx, "the definition", func(ctx context.Context) error {
		answer, err := live.Do(ctx, cluster.Request{Method: http.MethodGet, Path: target.Path("")})
		if err == nil && answer.OK() != is {
			err = errors.New(answer.Message())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// TestEndsInVersionThatIsGone: an exception that was signed in a version that is no longer served
// is found and deleted at its expiry, also by a new leader.
func TestEndsInVersionThatIsGone(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	target := cluster.Target{Group: "kyverno.io", Version: "v2beta1", Namespace: namespace(t)}
	text := seal(t, draft{name: "old", namespace: target.Namespace, lives: 30 * time.Second}.legacy("v2beta1"))[0]
	create(t, target, text).want(t, http.StatusCreated)
	i.until(t, "the report", func(ctx context.Context) error {
		return reported(ctx, target.Namespace, []string{"old verified pass"})
	})
	serveVersion(t, "v2beta1", false)
	t.Cleanup(func() { serveVersion(t, "v2beta1", true) })
	i.group.Stop()
	i.again(t)
	i.until(t, "the report on what cannot be read", func(ctx context.Context) error {
		return reported(ctx, target.Namespace, []string{"old unreadable fail"})
	})
	shown := target
	shown.Version = "v2"
	if end := gone(t, i, shown, "old", text); time.Now().Before(end) {
		t.Errorf("it went before its end, at %s", end)
	}
}

// TestFindsWhatCannotBeRead: an unreadable exception is reported like an unsigned one, and deleted
// if configured.
func TestFindsWhatCannotBeRead(t *testing.T) {
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: namespace(t)}
	deep := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	text := strings.Replace(draft{name: "deep", namespace: target.Namespace}.legacy("v2"), "spec:\n",
		"spec:\n  conditions: {any: [{key: a, operator: Equals, value: "+deep+"}]}\n", 1)
	create(t, target, text).want(t, http.StatusCreated)
	i := settings{}.run(t)
	i.until(t, "the report", func(ctx context.Context) error {
		return reported(ctx, target.Namespace, []string{"deep unreadable fail"})
	})
	i.until(t, "the Event", func(ctx context.Context) error {
		return contains(ctx, "/apis/events.k8s.io/v1/namespaces/"+target.Namespace+"/events", `"note":"[unreadable] `)
	})
	i.until(t, "the metric", func(ctx context.Context) error {
		return i.measures(ctx, `polex_guard_exceptions{kind="PolicyException.kyverno.io",reason="unreadable"} 1`)
	})
	i.group.Stop()
	enforcing := settings{flags: []string{"--enforce-existing", "--recheck-interval", "1s"}}.run(t)
	enforcing.until(t, "it to go", func(ctx context.Context) error { return gonePath(ctx, target.Path("deep")) })
}
