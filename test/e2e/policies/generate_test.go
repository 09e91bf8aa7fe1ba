//go:build e2e

package policies

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// dialects lists the files of policies/generate, the path of their generated policies, the maximum
// length of names, and whether a generated policy is deleted with the exception. Kyverno 1.19.1
// writes the name of a GeneratingPolicy's object into a label.
var dialects = []struct {
	file, namespace, written string
	longest                  int
	goes                     bool
}{
	{"generate/generatingpolicy.yaml", "team-generating", "/apis/policies.kyverno.io/v1/deletingpolicies", 63, true},
	{"generate/clusterpolicy.yaml", "team-cluster", "/apis/kyverno.io/v2/clustercleanuppolicies", 253, false},
}

// cleanupPolicy has the fields of a generated policy that the tests check.
type cleanupPolicy struct {
	Metadata struct {
		Name        string
		Annotations map[string]string
	}
	Spec struct {
		Schedule         string
		MatchConstraints json.RawMessage // of a DeletingPolicy
		Match            json.RawMessage // of a ClusterCleanupPolicy
		Conditions       json.RawMessage
	}
}

// written returns the generated policies for exceptions of a namespace, by exception.
func written(ctx context.Context, path, namespace string) (map[string]cleanupPolicy, error) {
	var all struct{ Items []cleanupPolicy }
	if err := cluster.Into(&all)(live.Get(ctx, path)); err != nil {
		return nil, err
	}
	found := map[string]cleanupPolicy{}
	for _, p := range all.Items {
		if about := p.Metadata.Annotations["polex.dev/about"]; strings.Contains(about, "/"+namespace+"/") {
			found[about] = p
		}
	}
	return found, nil
}

// TestGenerated: an exception gets a policy that deletes only this exception, in the minute after its expiry. A renewal
// gets another policy, and the policy is deleted with the exception. An exception without a valid time gets none.
func TestGenerated(t *testing.T) {
	t.Parallel()
	apply(t, file(t, "generate/clusterrole.yaml"))
	permit(t)
	for _, d := range dialects {
		must.Do(t, live.CreateNamespace(t.Context(), d.namespace))
		manifests := limited(t, file(t, d.file), d.namespace)
		// Kyverno has to know the role that the policy needs.
		until(t, "Kyverno to take the policy", func(ctx context.Context) error { return live.ApplyAll(ctx, []byte(manifests)) })
		t.Cleanup(func() { withdraw(t, manifests) })
	}
	for _, d := range dialects {
		until(t, d.file+" to count", func(ctx context.Context) error { return counts(ctx, d.written, d.namespace) })
	}
	zone := time.FixedZone("", 5*3600+1800)
	soon := map[string]time.Time{}
	for _, d := range dialects {
		stored := t // until the last one has expired too
		t.Run(d.file, func(t *testing.T) {
			end := time.Now().Add(15 * time.Second).Truncate(time.Second)
			soon[d.file] = end
			want := map[string]string{}
			for _, target := range groups {
				target.Namespace = d.namespace
				for name, at := range endings(end.In(zone)) {
					store(stored, target, name, at)
					if end, err := time.Parse(time.RFC3339, at); err == nil && end.After(time.Now()) && len(name) <= d.longest {
						want[target.Group+"/"+d.namespace+"/"+name] = at
					}
				}
				for n, at := range garbage[:len(garbage)-1] {
					if target.Group == exception.KyvernoGroup || n == 0 {
						store(stored, target, fmt.Sprintf("garbage-%d", n), at)
					}
				}
				// When this one has its policy, Kyverno has seen all others.
				const last = "2098-01-01T00:00:00Z"
				store(stored, target, "last", last)
				want[target.Group+"/"+d.namespace+"/last"] = last
			}
			until(t, "every policy", func(ctx context.Context) error { return holds(ctx, d.written, d.namespace, want) })
		})
	}
	for _, d := range dialects {
		t.Run("renewed by "+d.file, func(t *testing.T) { renews(t, d.written, d.namespace) })
	}
	for _, d := range dialects {
		for _, target := range groups {
			target.Namespace = d.namespace
			until(t, "the end of "+target.Path("soon"), func(ctx context.Context) error { return isThere(ctx, target.Path("soon"), false) })
			if early := time.Until(soon[d.file]); early > 0 {
				t.Errorf("%s went %s too soon", target.Path("soon"), early)
			}
			for _, name := range []string{"last", "renewed", "leap", "zone", "fraction", "garbage-0"} {
				expect.NoError(t, isThere(t.Context(), target.Path(name), true))
			}
			if !d.goes {
				continue
			}
			about := target.Group + "/" + d.namespace + "/soon"
			until(t, "the policy for "+about+" to go with it", func(ctx context.Context) error {
				found, err := written(ctx, d.written, d.namespace)
				if err == nil && found[about].Metadata.Name != "" {
					err = errors.New("it is there")
				}
				return err
			})
		}
	}
}

// endings returns expiries by the names of exceptions: soon ones, ones at the end of a day or year
// in UTC, and past ones.
func endings(soon time.Time) map[string]string {
	return map[string]string{
		"soon":                               soon.Format(time.RFC3339),
		"renewed":                            soon.Format(time.RFC3339),
		"leap":                               "2028-02-28T23:59:01Z",
		"zone":                               "2027-01-01T00:30:00+01:00",
		"fraction":                           "2027-04-30T23:59:00.000000001Z",
		"been":                               "2020-01-01T00:00:00Z",
		strings.Repeat("long", 62) + ".name": "2027-06-01T12:00:00-08:00",
		strings.Repeat("n", 63):              "2027-06-01T12:00:00+14:00",
	}
}

// holds returns an error unless each exception has the right policy, and there are no others.
func holds(ctx context.Context, path, namespace string, want map[string]string) error {
	found, err := written(ctx, path, namespace)
	if err != nil {
		return err
	}
	for about := range found {
		if _, wanted := want[about]; !wanted && !strings.HasSuffix(about, "/probe") {
			return fmt.Errorf("there is a policy for %s", about)
		}
	}
	for about, text := range want {
		end, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return err
		}
		p, is := found[about]
		if !is {
			return fmt.Errorf("there is no policy for %s", about)
		}
		if p.Spec.Schedule != schedule(end) {
			return fmt.Errorf("%s is looked at at %s, and ends at %s", about, p.Spec.Schedule, end)
		}
		if !strings.HasPrefix(p.Metadata.Name, "polex-") {
			return fmt.Errorf("%s: an exception may reach %s", about, p.Metadata.Name)
		}
		// It states this expiry, and the expiry is past.
		if strings.Count(string(p.Spec.Conditions), "'"+text+"'") != 2 {
			return fmt.Errorf("%s ends at %s, and is asked for %s", about, text, p.Spec.Conditions)
		}
		parts := strings.Split(about, "/")
		if err := p.isAbout(parts[0], parts[1], parts[2]); err != nil {
			return err
		}
	}
	return nil
}

// schedule is the minute of an end in UTC, rounded up. A schedule has no year.
func schedule(end time.Time) string {
	minute := end.UTC().Add(time.Minute - time.Nanosecond).Truncate(time.Minute)
	return fmt.Sprintf("%d %d %d %d *", minute.Minute(), minute.Hour(), minute.Day(), minute.Month())
}

// isAbout returns an error unless a policy matches this exception only.
func (p cleanupPolicy) isAbout(group, namespace, name string) error {
	version := "v1"
	if group == exception.KyvernoGroup {
		version = "v2"
	}
	if p.Spec.Match != nil {
		want := fmt.Sprintf(`{"any":[{"resources":{"kinds":["%s/%s/PolicyException"],"names":["%s"],"namespaces":["%s"]}}]}`, group, version, name, namespace)
		return expect.Unless(string(p.Spec.Match) == want, "it matches %s, and not %s", p.Spec.Match, want)
	}
	var matched struct {
		ResourceRules []struct{ APIGroups, APIVersions, Resources []string }
	}
	if err := json.Unmarshal(p.Spec.MatchConstraints, &matched); err != nil {
		return err
	}
	if r := matched.ResourceRules; len(r) != 1 || !slices.Equal(r[0].APIGroups, []string{group}) || !slices.Equal(r[0].APIVersions, []string{version}) || !slices.Equal(r[0].Resources, []string{"policyexceptions"}) {
		return fmt.Errorf("it matches %s", p.Spec.MatchConstraints)
	}
	var conditions []struct{ Name, Expression string }
	if err := json.Unmarshal(p.Spec.Conditions, &conditions); err != nil {
		return err
	}
	want := fmt.Sprintf("object.metadata.namespace == '%s' && object.metadata.name == '%s'", namespace, name)
	return expect.Unless(len(conditions) == 3 && conditions[0].Expression == want,
		"it asks for %q, and not for %q", conditions, want)
}

// renews gives exceptions that expire soon a later expiry.
func renews(t *testing.T, path, namespace string) {
	later := time.Date(2027, 2, 28, 23, 59, 30, 0, time.UTC)
	for _, target := range groups {
		target.Namespace = namespace
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"polex.dev/expires-at":%q}}}`, later.Format(time.RFC3339))
		if target.Group == exception.PoliciesGroup {
			patch = fmt.Sprintf(`{"spec":{"expiresAt":%q}}`, later.Format(time.RFC3339))
		}
		must.Do(t, cluster.OK(live.Merge(t.Context(), target.Path("renewed"), []byte(patch))))
		about := target.Group + "/" + namespace + "/renewed"
		until(t, "the policy for the later end", func(ctx context.Context) error {
			found, err := written(ctx, path, namespace)
			if p := found[about]; err == nil && (p.Spec.Schedule != schedule(later) || !strings.Contains(string(p.Spec.Conditions), later.Format(time.RFC3339))) {
				err = fmt.Errorf("%s: %s", p.Spec.Schedule, p.Spec.Conditions)
			}
			return err
		})
	}
}

// counts returns an error until an exception of each group has its policy. An exception from before
// Kyverno's webhook gets its policy at the next change.
func counts(ctx context.Context, path, namespace string) error {
	for _, target := range groups {
		target.Namespace = namespace
		end := time.Date(2030, 1, 1, 0, 0, 0, time.Now().Nanosecond(), time.UTC).Format(time.RFC3339Nano)
		if err := cluster.OK(live.Apply(ctx, []byte(exceptionOf(target, "probe", end)))); err != nil {
			return err
		}
	}
	found, err := written(ctx, path, namespace)
	if err == nil && len(found) < len(groups) {
		err = fmt.Errorf("there are %d", len(found))
	}
	return err
}

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
			expect.NoError(t, isThere(t.Context(), path, true))
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
		expect.NoError(t, isThere(t.Context(), path, true))
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
