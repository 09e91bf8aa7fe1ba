//go:build e2e

package policies

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/e2e/cluster"
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

// TestGenerated: an exception gets a policy that deletes only this exception, in the minute after
// its expiry. A renewal gets another policy, and the policy is deleted with the exception. An
// exception without a valid time gets none.
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
				if err := isThere(t.Context(), target.Path(name), true); err != nil {
					t.Error(err)
				}
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
		if string(p.Spec.Match) != want {
			return fmt.Errorf("it matches %s, and not %s", p.Spec.Match, want)
		}
		return nil
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
	if want := fmt.Sprintf("object.metadata.namespace == '%s' && object.metadata.name == '%s'", namespace, name); len(conditions) != 3 || conditions[0].Expression != want {
		return fmt.Errorf("it asks for %q, and not for %q", conditions, want)
	}
	return nil
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
