//go:build e2e

package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/servers"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

const reports = "/apis/wgpolicyk8s.io/v1alpha2/namespaces/%s/policyreports/polex-guard"

// TestRecheck: the guard finds exceptions that are older than the webhook, also one that it cannot read.
// It reports them in Events, a report and metrics, and deletes them if configured.
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
	// No reader of polex goes so deep.
	deep, nested := served[0], strings.Repeat("[", 70)+strings.Repeat("]", 70)
	deep.Namespace = ns
	create(t, deep, strings.Replace(draft{name: "deep", namespace: ns}.in(deep), "spec:\n",
		"spec:\n  conditions: {any: [{key: a, operator: Equals, value: "+nested+"}]}\n", 1)).want(t, http.StatusCreated)
	i := settings{}.run(t)
	want := []string{"altered altered fail", "honest verified pass", "other wrong-identity fail", "unsigned unsigned fail"}
	want = append(want, append(want, "deep unreadable fail")...)
	slices.Sort(want)
	i.until(t, "the report", reported(ns, want...))
	for reason, note := range map[string]string{"unsigned": "it is not signed", "unreadable": ""} {
		i.until(t, "an Event", contains(eventsOf(ns), `"note":"[`+reason+`] `+note))
		metric := fmt.Sprintf(`polex_guard_exceptions{kind="PolicyException.kyverno.io",reason=%q} 1`, reason)
		i.until(t, "the metric", i.measures(metric))
	}
	// A deleted exception is removed from the report.
	for _, target := range []cluster.Target{legacy, policies} {
		remove(t, target.Path("unsigned")).want(t, http.StatusOK)
	}
	want = slices.DeleteFunc(want, func(line string) bool { return strings.HasPrefix(line, "unsigned") })
	i.until(t, "the report", reported(ns, want...))
	i.group.Stop()

	enforcing := settings{flags: []string{"--enforce-existing", "--recheck-interval", "1s"}}.run(t)
	enforcing.until(t, "the removal", reported(ns, "honest verified pass", "honest verified pass"))
	must.Do(t, gonePath(deep.Path("deep"))(t.Context()))
	for _, target := range []cluster.Target{legacy, policies} {
		read(t, target.Path("altered")).want(t, http.StatusNotFound)
		read(t, target.Path("honest")).want(t, http.StatusOK)
	}
}

// reported checks a namespace's report.
func reported(ns string, want ...string) check { return reportedAt(fmt.Sprintf(reports, ns), want...) }

// reportedAt checks the report at a path.
func reportedAt(path string, want ...string) check {
	return func(ctx context.Context) error {
		var report struct {
			Results []struct {
				Rule, Result string
				Resources    []struct{ Name string }
			}
		}
		if err := cluster.Into(&report)(live.Get(ctx, path)); err != nil {
			return err
		}
		var got []string
		for _, r := range report.Results {
			got = append(got, fmt.Sprintf("%s %s %s", r.Resources[0].Name, r.Rule, r.Result))
		}
		slices.Sort(got)
		return expect.Unless(slices.Equal(got, want), "it says %q, not %q", got, want)
	}
}

// TestServedLater: the API server begins to serve a kind after the guard's first check. The guard
// checks this kind at once, not only in the next full check.
func TestServedLater(t *testing.T) {
	ns := namespace(t)
	legacy := served[0]
	legacy.Namespace = ns
	create(t, legacy, draft{name: "first", namespace: ns}.in(legacy)).want(t, http.StatusCreated)
	i := settings{kinds: []string{"PolicyException.kyverno.io", "Sprocket.example.com"}, flags: []string{"--recheck-interval", "24h"}}.run(t)
	i.until(t, "the first report", reported(ns, "first unsigned fail"))
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	post(t, definitions, []byte(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sprockets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Sprocket, plural: sprockets}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`)).want(t, http.StatusCreated)
	deleteAfter(t, definitions+"/sprockets.example.com")
	i.until(t, "the kind to be served", func(ctx context.Context) error {
		answer, err := live.Post(ctx, "/apis/example.com/v1/namespaces/"+ns+"/sprockets",
			[]byte("{apiVersion: example.com/v1, kind: Sprocket, metadata: {name: one}}"))
		if err == nil && !answer.OK() {
			err = errors.New(answer.Message())
		}
		return err
	})
	i.until(t, "the report", reported(ns, "first unsigned fail", "one unsigned fail"))
}

// TestOpenReports: if the cluster has the reports of openreports.io, the guard writes those, and
// deletes its older reports of the other kind.
func TestOpenReports(t *testing.T) {
	ns := namespace(t)
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}
	create(t, target, draft{name: "unsigned", namespace: ns}.legacy("v2")).want(t, http.StatusCreated)
	before := settings{}.run(t)
	before.until(t, "the report of the working group", reported(ns, "unsigned unsigned fail"))
	before.group.Stop()

	open := servesOpenReports(t, ns)
	before.again(t)
	before.until(t, "the open report", reportedAt(open, "unsigned unsigned fail"))
	before.until(t, "the other report to go", gonePath(fmt.Sprintf(reports, ns)))
	create(t, target, draft{name: "another", namespace: ns}.legacy("v2")).want(t, http.StatusCreated)
	before.until(t, "the open report of both", reportedAt(open, "another unsigned fail", "unsigned unsigned fail"))
}

// servesOpenReports installs the reports of openreports.io until the test ends, and returns the
// path of a namespace's report.
func servesOpenReports(t *testing.T, ns string) (path string) {
	t.Helper()
	source := must.Get(servers.Source(t.Context(), fixture.FromRoot("test/e2e/tools/kyverno"),
		"github.com/openreports/reports-api"))(t)
	text := must.Get(os.ReadFile(filepath.Join(source, "config", "crd", "openreports.io_reports.yaml")))(t)
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	text = []byte(strings.TrimPrefix(strings.TrimSpace(string(text)), "---"))
	post(t, definitions, text).want(t, http.StatusCreated)
	path = fmt.Sprintf("/apis/openreports.io/v1alpha1/namespaces/%s/reports/polex-guard", ns)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
		defer cancel()
		_, _ = live.Delete(ctx, definitions+"/reports.openreports.io")
		err := live.Until(ctx, "the definition to go", func(ctx context.Context) error {
			return gonePath(definitions + "/reports.openreports.io")(ctx)
		})
		expect.NoError(t, err)
	})
	until(t, "the definition", func(ctx context.Context) error {
		return cluster.OK(live.Get(ctx, strings.TrimSuffix(path, "/polex-guard")))
	})
	return path
}

// TestKeptByKyverno: Kyverno still applies a deleted exception from a NamespacedValidatingPolicy, until
// that policy changes. The guard says so when it deletes one, and polex-guard check says it before.
func TestKeptByKyverno(t *testing.T) {
	ns := namespace(t)
	policy := "/apis/policies.kyverno.io/v1beta1/namespaces/" + ns + "/namespacedvalidatingpolicies"
	post(t, policy, []byte(`{apiVersion: policies.kyverno.io/v1beta1, kind: NamespacedValidatingPolicy,
  metadata: {name: kept}, spec: {validationActions: [Deny],
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]},
  validations: [{expression: "object.metadata.name != 'web'", message: denied by kept}]}}`)).want(t, http.StatusCreated)
	deleteAfter(t, policy+"/kept")
	denied := func(ctx context.Context) (bool, error) {
		answer, err := live.Post(ctx, "/api/v1/namespaces/"+ns+"/configmaps?dryRun=All",
			[]byte(`{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}`))
		return err == nil && strings.Contains(answer.Message(), "denied by kept"), err
	}
	until := func(what string, want bool) {
		t.Helper()
		until(t, what, func(ctx context.Context) error {
			is, err := denied(ctx)
			if err == nil && is != want {
				err = fmt.Errorf("denied: %t", is)
			}
			return err
		})
	}
	touch := func(value string) {
		t.Helper()
		merge(t, policy+"/kept", `{"metadata":{"labels":{"touched":"`+value+`"}}}`).want(t, http.StatusOK)
	}
	until("Kyverno to apply the policy", true)
	i := settings{}.run(t)
	i.register(t)
	target := cluster.Target{Group: "policies.kyverno.io", Version: "v1beta1", Namespace: ns}
	text := strings.Replace(draft{name: "e", namespace: ns, policy: "kept", lives: 20 * time.Second}.in(target), "kind: ValidatingPolicy", "kind: NamespacedValidatingPolicy", 1)
	sealed := seal(t, text)[0]
	create(t, target, sealed).want(t, http.StatusCreated)
	got, _ := i.diagnosed(t, live.Kubeconfig())
	expect.That(t, slices.Contains(got, "kept-by-kyverno"), "check says %q", got)
	touch("a")
	until("Kyverno to apply the exception", false)
	i.until(t, "the guard to say it", contains(eventsOf(ns), "Kyverno may still apply it"))
	is, err := denied(t.Context())
	expect.That(t, !is && err == nil, "Kyverno forgets a deleted exception; the warnings can go: %v", err)
	touch("b")
	until("Kyverno to forget the exception", true)
}

// The policies from which Kyverno generates ValidatingAdmissionPolicies.
const (
	compiled = `{apiVersion: policies.kyverno.io/v1beta1, kind: ValidatingPolicy, metadata: {name: %s}, spec: {
  autogen: {validatingAdmissionPolicy: {enabled: true}, podControllers: {controllers: []}}, validationActions: [Deny],
  matchConstraints: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: nowhere}},
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]},
  validations: [{expression: "false"}]}}`
	legacyCompiled = `{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: %s}, spec: {rules: [{name: check,
  match: {any: [{resources: {kinds: [ConfigMap], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: nowhere}}}}]},
  validate: {failureAction: Enforce, cel: {generate: true, expressions: [{expression: "false"}]}}}]}}`
)

// TestDroppedPolicy: Kyverno still applies an exception to a policy that an update no longer names. The
// guard rejects such an update, and Kyverno learns of the deletion that the guard asks for.
func TestDroppedPolicy(t *testing.T) {
	for name, tc := range map[string]struct {
		target                   cluster.Target
		policies, policy, prefix string
		wide, narrow             string            // what an exception adds to the generated policy
		scope, both, several     *strings.Replacer // of the draft
	}{
		"conditions": {
			target: served[3], policies: "/apis/policies.kyverno.io/v1beta1/validatingpolicies", policy: compiled, prefix: "vpol-",
			wide: "!(object.metadata.name == 'web')", narrow: "!(object.metadata.name == 'narrower')",
			scope: strings.NewReplacer("'web'", "'narrower'"), both: strings.NewReplacer("[{name: kept,", "[{name: dropped, kind: ValidatingPolicy}, {name: kept,"),
		},
		"match": {
			target: served[0], policies: "/apis/kyverno.io/v1/clusterpolicies", policy: legacyCompiled, prefix: "cpol-",
			wide: `"web"`, narrow: `"narrower"`,
			scope:   strings.NewReplacer("names: [web-*], namespaces: [team-a]", "names: [narrower]"),
			both:    strings.NewReplacer("[{policyName: kept,", "[{policyName: dropped, ruleNames: [check]}, {policyName: kept,", "names: [web-*], namespaces: [team-a]", "names: [web]"),
			several: strings.NewReplacer("names: [web-*], namespaces: [team-a]", "names: [narrower]", "[{policyName: kept,", "[{policyName: dropped, ruleNames: [check, other]}, {policyName: kept,"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			generated := "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/" + tc.prefix
			for _, name := range []string{"kept", "dropped"} {
				post(t, tc.policies, fmt.Appendf(nil, tc.policy, name)).want(t, http.StatusCreated)
				deleteAfter(t, tc.policies+"/"+name)
			}
			target := tc.target
			target.Namespace = namespace(t)
			text := draft{name: "e", namespace: target.Namespace, policy: "kept", kind: "ConfigMap"}.in(target)
			both, fewer := seal(t, tc.both.Replace(text))[0], seal(t, tc.scope.Replace(text))[0]
			update := func(text string) response {
				t.Helper()
				return do(t, cluster.Request{Method: http.MethodPatch, Path: target.Path("e") + "?force=true&fieldManager=test",
					ContentType: "application/apply-patch+yaml", Body: []byte(text)})
			}
			remove := func() {
				t.Helper()
				remove(t, target.Path("e")).want(t, http.StatusOK)
			}
			until := func(what, policy, text string, holds bool) {
				t.Helper()
				until(t, what, func(ctx context.Context) error {
					answer, err := live.Get(ctx, generated+policy)
					if err == nil && (!answer.OK() || bytes.Contains(answer.Body, []byte(text)) != holds) {
						err = fmt.Errorf("%d: %s", answer.Code, answer.Body)
					}
					return err
				})
			}
			create(t, target, both).want(t, http.StatusCreated)
			until("Kyverno to apply it", "dropped", tc.wide, true)
			update(fewer).want(t, http.StatusOK)
			until("Kyverno to apply the new one", "kept", tc.narrow, true)
			remove()
			until("Kyverno to forget the new one", "kept", tc.narrow, false)
			// Another event of that policy, such as an update of its status, makes Kyverno look at it again.
			if err := contains(generated+"dropped", tc.wide)(t.Context()); err != nil {
				t.Logf("Kyverno forgot the policy that an update dropped: %v", err)
			}

			create(t, target, both).want(t, http.StatusCreated)
			until("Kyverno to apply it again", "kept", tc.wide, true)
			settings{}.run(t).register(t)
			update(fewer).refusedFor(t, "drops-policy")
			if tc.several != nil {
				update(seal(t, tc.several.Replace(text))[0]).refusedFor(t, "drops-policy")
			}
			remove()
			until("Kyverno to forget it", "dropped", tc.wide, false)
			create(t, target, fewer).want(t, http.StatusCreated)
			until("Kyverno to apply the new one", "kept", tc.narrow, true)
		})
	}
}
