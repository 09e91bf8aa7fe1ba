//go:build e2e

package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/cluster"
)

const reports = "/apis/wgpolicyk8s.io/v1alpha2/namespaces/%s/policyreports/polex-guard"

// TestRecheck: the guard finds exceptions that are older than the webhook. It reports them in
// Events, a report and metrics, and deletes them if configured.
func TestRecheck(t *testing.T) {
	ns := namespace(t)
	legacy := cluster.Target{Group: "kyverno.io", Version: "v2beta1", Namespace: ns}
	policies := cluster.Target{Group: "policies.kyverno.io", Version: "v1alpha1", Namespace: ns}
	for _, target := range []cluster.Target{legacy, policies} {
		sealed := seal(t, draft{name: "honest", namespace: ns}.in(target), draft{name: "altered", namespace: ns}.in(target))
		create(t, target, sealed[0]).want(t, http.StatusCreated)
		create(t, target, strings.Replace(sealed[1], "require-probes", "require-limits", 1)).want(t, http.StatusCreated)
		create(t, target, draft{name: "unsigned", namespace: ns}.in(target)).want(t, http.StatusCreated)
		create(t, target, sealAs(t, sandbox.Identity{Ref: "refs/heads/feature"}, draft{name: "other", namespace: ns}.in(target))[0]).want(t, http.StatusCreated)
	}
	i := settings{}.run(t)
	want := []string{"altered altered fail", "honest verified pass", "other wrong-identity fail", "unsigned unsigned fail"}
	want = append(want, want...)
	slices.Sort(want)
	i.until(t, "the report", func(ctx context.Context) error { return reported(ctx, ns, want) })
	i.until(t, "an Event", func(ctx context.Context) error {
		return contains(ctx, "/apis/events.k8s.io/v1/namespaces/"+ns+"/events", `"note":"[unsigned] it is not signed`)
	})
	i.until(t, "the metrics", func(ctx context.Context) error {
		return i.measures(ctx, `polex_guard_exceptions{kind="PolicyException.kyverno.io",reason="unsigned"} 1`)
	})
	// A deleted exception is removed from the report.
	for _, target := range []cluster.Target{legacy, policies} {
		do(t, cluster.Request{Method: http.MethodDelete, Path: target.Path("unsigned")}).want(t, http.StatusOK)
	}
	want = slices.DeleteFunc(want, func(line string) bool { return strings.HasPrefix(line, "unsigned") })
	i.until(t, "the report", func(ctx context.Context) error { return reported(ctx, ns, want) })
	i.group.Stop()

	enforcing := settings{flags: []string{"--enforce-existing", "--recheck-interval", "1s"}}.run(t)
	enforcing.until(t, "the removal", func(ctx context.Context) error {
		return reported(ctx, ns, []string{"honest verified pass", "honest verified pass"})
	})
	for _, target := range []cluster.Target{legacy, policies} {
		do(t, cluster.Request{Method: http.MethodGet, Path: target.Path("altered")}).want(t, http.StatusNotFound)
		do(t, cluster.Request{Method: http.MethodGet, Path: target.Path("honest")}).want(t, http.StatusOK)
	}
}

// reported checks a namespace's report.
func reported(ctx context.Context, ns string, want []string) error {
	return reportedAt(ctx, fmt.Sprintf(reports, ns), want)
}

// reportedAt checks the report at a path.
func reportedAt(ctx context.Context, path string, want []string) error {
	answer, err := live.Do(ctx, cluster.Request{Method: http.MethodGet, Path: path})
	if err != nil {
		return err
	}
	var report struct {
		Results []struct {
			Rule, Result string
			Resources    []struct{ Name string }
		}
	}
	if err := decodeAnswer(answer, &report); err != nil {
		return err
	}
	var got []string
	for _, r := range report.Results {
		got = append(got, fmt.Sprintf("%s %s %s", r.Resources[0].Name, r.Rule, r.Result))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Errorf("it says %q, not %q", got, want)
	}
	return nil
}

// TestServedLater: the API server begins to serve a kind after the guard's first check. The guard
// checks this kind at once, not only in the next full check.
func TestServedLater(t *testing.T) {
	ns := namespace(t)
	legacy := served[0]
	legacy.Namespace = ns
	create(t, legacy, draft{name: "first", namespace: ns}.in(legacy)).want(t, http.StatusCreated)
	i := settings{kinds: []string{"PolicyException.kyverno.io", "Sprocket.example.com"}, flags: []string{"--recheck-interval", "24h"}}.run(t)
	i.until(t, "the first report", func(ctx context.Context) error { return reported(ctx, ns, []string{"first unsigned fail"}) })
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	do(t, cluster.Request{Method: http.MethodPost, Path: definitions, Body: []byte(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sprockets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Sprocket, plural: sprockets}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`)}).want(t, http.StatusCreated)
	t.Cleanup(func() {
		_, _ = live.Do(context.Background(), cluster.Request{Method: http.MethodDelete, Path: definitions + "/sprockets.example.com"})
	})
	i.until(t, "the kind to be served", func(ctx context.Context) error {
		answer, err := live.Do(ctx, cluster.Request{Method: http.MethodPost, Path: "/apis/example.com/v1/namespaces/" + ns + "/sprockets",
			Body: []byte("{apiVersion: example.com/v1, kind: Sprocket, metadata: {name: one}}")})
		if err == nil && !answer.OK() {
			err = errors.New(answer.Message())
		}
		return err
	})
	i.until(t, "the report", func(ctx context.Context) error {
		return reported(ctx, ns, []string{"first unsigned fail", "one unsigned fail"})
	})
}

// TestExpiry: exceptions are deleted at their expiry, not earlier, by any guard that holds the
// lease.
func TestExpiry(t *testing.T) {
	ns := namespace(t)
	first := settings{}.run(t)
	first.register(t)
	legacy, policies := served[0], served[2]
	legacy.Namespace, policies.Namespace = ns, ns
	first.until(t, "the first guard to lead", func(ctx context.Context) error { return first.measures(ctx, "polex_guard_leader 1") })
	ends(t, first, legacy, 5*time.Second)
	ends(t, first, policies, 5*time.Second)

	second := settings{}.run(t)
	sealed := seal(t, draft{name: "handed-over", namespace: ns, lives: 8 * time.Second}.legacy("v2"))[0]
	create(t, legacy, sealed).want(t, http.StatusCreated)
	unregister(t)
	first.group.Stop()
	gone(t, second, legacy, "handed-over", sealed)
	if err := second.measures(t.Context(), "polex_guard_leader 1"); err != nil {
		t.Error(err)
	}
}

// ends creates an exception with a short lifetime, and compares the time of its deletion with the
// signed expiry.
func ends(t *testing.T, i *instance, target cluster.Target, lives time.Duration) {
	t.Helper()
	sealed := seal(t, draft{name: "short", namespace: target.Namespace, lives: lives}.in(target))[0]
	create(t, target, sealed).want(t, http.StatusCreated)
	end := gone(t, i, target, "short", sealed)
	if late := time.Since(end); late < 0 {
		t.Errorf("it went %s too soon", -late)
	} else {
		t.Logf("it was seen to be gone %s after its end", late.Round(time.Millisecond))
	}
	create(t, target, sealed).refusedFor(t, "expired")
}

// gone waits until an exception is deleted, and returns its expiry.
func gone(t *testing.T, i *instance, target cluster.Target, name, sealed string) time.Time {
	t.Helper()
	i.until(t, "the exception to end", func(ctx context.Context) error {
		answer, err := live.Do(ctx, cluster.Request{Method: http.MethodGet, Path: target.Path(name)})
		if err == nil && answer.Code != http.StatusNotFound {
			err = errors.New("it is there")
		}
		return err
	})
	return endOf(t, sealed)
}
