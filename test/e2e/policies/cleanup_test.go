//go:build e2e

package policies

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/must"
)

// The places in manifests that select objects: the API server's rules, the kinds for which Kyverno
// generates something, and the kinds that it deletes.
var (
	ruled     = regexp.MustCompile(`(?m)^(  )matchConstraints:$`)
	generates = regexp.MustCompile(`(?m)^( +)kinds: \[[a-z.]+/\*/PolicyException\]$`)
	deletes   = regexp.MustCompile(`(?m)^( +)kinds: \[[a-z.]+/v[0-9]/PolicyException\]$`)
)

// limited returns manifests for one namespace only. So each of several policies has its own
// exceptions to delete in the same minute.
func limited(t *testing.T, manifests, namespace string) string {
	t.Helper()
	switch {
	case ruled.MatchString(manifests):
		return ruled.ReplaceAllString(manifests, "$0\n$1  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "+namespace+"}}")
	case generates.MatchString(manifests):
		return generates.ReplaceAllString(manifests, "$0\n${1}namespaces: ["+namespace+"]")
	case deletes.MatchString(manifests):
		return deletes.ReplaceAllString(manifests, "$0\n${1}namespaces: ["+namespace+"]")
	}
	t.Fatalf("it names nothing to limit:\n%s", manifests)
	return ""
}

// garbage lists texts that are not a time, or a time in the future. An expression that reads the
// former as a time fails, and Kyverno never runs the policy again.
var garbage = []string{
	"", "soon", "2026-02-30T00:00:00Z", "2025-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-01T24:00:00Z",
	"2026-01-01T00:00:00", "2026-01-01T00:00:00Z\n", " 2026-01-01T00:00:00Z", "2026-01-01T00:00:00+24:00", "2026-01-01", "2026-W01-1T00:00:00Z",
	"{{ end }}", "{{ target.metadata.annotations.\"polex.dev/expires-at\" }}", "2026-01-01T00:00:00Z' || true || '", "2099-12-31T23:59:59-23:59",
}

// TestStanding: Kyverno deletes expired exceptions and nothing else, when it has the permission,
// with both policies of policies/cleanup and with its own label. Before, it deletes nothing.
func TestStanding(t *testing.T) {
	const deleting, cleanup = "team-deleting", "team-cleanup"
	paths := map[bool][]string{} // by whether they stay
	now := time.Now()
	for _, namespace := range []string{deleting, cleanup, "team-label"} {
		must.Do(t, live.CreateNamespace(t.Context(), namespace))
	}
	for _, target := range groups {
		for _, namespace := range []string{deleting, cleanup} {
			target.Namespace = namespace
			zone := time.FixedZone("", -(3*3600 + 1800))
			for name, end := range map[string]string{
				"ended":      now.Add(-time.Hour).In(zone).Format(time.RFC3339),
				"long-ended": "2000-02-29T23:59:59.123456789+14:00",
				"later":      now.Add(time.Hour).In(zone).Format(time.RFC3339),
			} {
				store(t, target, name, end)
				paths[name == "later"] = append(paths[name == "later"], target.Path(name))
			}
			for n, end := range garbage {
				if target.Group == exception.PoliciesGroup && n > 0 {
					continue // the API server accepts times only
				}
				name := fmt.Sprintf("garbage-%d", n)
				store(t, target, name, end)
				paths[true] = append(paths[true], target.Path(name))
			}
		}
		target.Namespace = "team-label"
		for name, end := range map[string]time.Time{"ended": now.Add(-time.Hour), "later": now.Add(time.Hour)} {
			storeLabelled(t, target, name, end)
			paths[name == "later"] = append(paths[name == "later"], target.Path(name))
		}
	}
	standing, old := limited(t, file(t, "cleanup/deletingpolicy.yaml"), deleting), limited(t, file(t, "cleanup/clustercleanuppolicy.yaml"), cleanup)
	apply(t, standing)
	t.Cleanup(func() { withdraw(t, standing) })
	t.Run("not permitted", func(t *testing.T) {
		until(t, "Kyverno to try", func(ctx context.Context) error {
			return has("failed to delete the target resource PolicyException/" + deleting)(
				live.Get(ctx, "/apis/events.k8s.io/v1/events"))
		})
		for _, path := range append(paths[true], paths[false]...) {
			if err := isThere(t.Context(), path, true); err != nil {
				t.Error(err)
			}
		}
	})
	// After ten failures, Kyverno does not retry until the policy changes.
	withdraw(t, standing)
	t.Parallel() // with the tests that wait for the same minute
	permit(t)
	apply(t, standing)
	apply(t, old)
	t.Cleanup(func() { withdraw(t, old) })
	for _, path := range paths[false] {
		until(t, path+" to be deleted", func(ctx context.Context) error { return isThere(ctx, path, false) })
	}
	for _, path := range []string{"/apis/policies.kyverno.io/v1/deletingpolicies/polex-cleanup", "/apis/kyverno.io/v2/clustercleanuppolicies/polex-cleanup-kyverno", "/apis/kyverno.io/v2/clustercleanuppolicies/polex-cleanup-policies"} {
		until(t, path+" to have been carried out", func(ctx context.Context) error {
			return has(`"lastExecutionTime":"20`)(live.Get(ctx, path))
		})
	}
	for _, path := range paths[true] {
		if err := isThere(t.Context(), path, true); err != nil {
			t.Error(err)
		}
	}
}

// storeLabelled creates an exception with its expiry in Kyverno's own label.
func storeLabelled(t *testing.T, target cluster.Target, name string, end time.Time) {
	t.Helper()
	text := strings.Replace(exceptionOf(target, name, end.UTC().Format(time.RFC3339)), "metadata: {", "metadata: {labels: {"+exception.LabelTTL+": "+lifetime.FormatTTL(end)+"}, ", 1)
	must.Do(t, cluster.OK(live.Create(t.Context(), target, []byte(text))))
}

// permit applies the role that Kyverno needs to delete exceptions, and waits until it takes effect.
func permit(t *testing.T) {
	t.Helper()
	apply(t, file(t, "cleanup/clusterrole.yaml"))
	until(t, "Kyverno to be permitted", func(ctx context.Context) error {
		controller := account("kyverno", "kyverno-cleanup-controller")
		for _, target := range groups {
			answer, err := live.Do(ctx, cluster.Request{Method: http.MethodDelete, Path: target.Path("nothing"), As: controller.name, Groups: controller.groups})
			if err == nil && answer.Code != http.StatusNotFound {
				err = fmt.Errorf("%d: %s", answer.Code, answer.Message())
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
