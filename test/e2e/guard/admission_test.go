//go:build e2e

package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestAdmission: the API server rejects unsigned, modified and wrongly signed exceptions with the
// guard's reason, and admits valid ones, through every served version.
func TestAdmission(t *testing.T) {
	settings{flags: []string{"--cluster-name", "e2e"}}.run(t).register(t)
	ns := namespace(t)
	for _, target := range served {
		target.Namespace = ns
		t.Run(target.Group+"-"+target.Version, func(t *testing.T) { admits(t, target) })
	}
	t.Run("life", func(t *testing.T) { lives(t, ns) })
}

func admits(t *testing.T, target cluster.Target) {
	ns := target.Namespace
	write := func(name string) string { return draft{name: name + "-" + target.Version, namespace: ns}.in(target) }
	elsewhere := draft{name: "elsewhere-" + target.Version, namespace: "default"}.in(target)
	other := draft{name: "other-cluster-" + target.Version, namespace: ns, annotations: ", polex.dev/cluster: another"}.in(target)
	mine := draft{name: "this-cluster-" + target.Version, namespace: ns, annotations: ", polex.dev/cluster: e2e"}.in(target)
	self := draft{name: "self-" + target.Version, namespace: ns, policy: "polex-verify"}.in(target)
	sealed := seal(t, write("honest"), write("wide"), elsewhere, other, mine, self)

	create(t, target, write("unsigned")).refusedFor(t, "unsigned")
	dry := must.Get(live.DryRun(t.Context(), target, []byte(write("unsigned"))))(t)
	response{dry}.refusedFor(t, "unsigned")
	create(t, target, strings.Replace(sealed[1], "require-probes", "require-limits", 1)).refusedFor(t, "altered")
	create(t, target, sealAs(t, sandbox.Identity{Ref: "refs/heads/feature"}, write("branch"))[0]).refusedFor(t, "wrong-identity")
	create(t, target, sealAs(t, sandbox.Identity{Repository: "acme/other"}, write("repository"))[0]).refusedFor(t, "wrong-identity")
	create(t, target, strings.Replace(sealed[2], "namespace: default", "namespace: "+ns, 1)).refusedFor(t, "altered")
	create(t, target, sealed[3]).refusedFor(t, "another-cluster")
	create(t, target, sealed[4]).want(t, http.StatusCreated)
	create(t, target, sealed[5]).refusedFor(t, "reaches-guard")
	create(t, target, sealed[0]).want(t, http.StatusCreated)

	// A signature for another version does not count, although the objects are the same.
	for _, version := range served {
		if version.Group == target.Group && version.Version != target.Version {
			version.Namespace = ns
			moved := strings.Replace(sealed[1], target.Group+"/"+target.Version, version.Group+"/"+version.Version, 1)
			create(t, version, moved).refusedFor(t, "altered")
		}
	}
}

// lives tests all changes in the life of a valid exception.
func lives(t *testing.T, ns string) {
	target := cluster.Target{Group: exception.KyvernoGroup, Version: "v2", Namespace: ns}
	path := target.Path("life")
	older := seal(t, draft{name: "life", namespace: ns, lives: 2 * time.Hour}.legacy("v2"))[0]
	fixture.NextSecond(t)
	newer := seal(t, draft{name: "life", namespace: ns, lives: time.Hour}.legacy("v2"))[0]
	put := func(text string) response {
		t.Helper()
		var there struct {
			Metadata struct{ ResourceVersion string }
		}
		decode(t, read(t, path), &there)
		return do(t, cluster.Request{Method: http.MethodPut, Path: path, Body: []byte(strings.Replace(text, "metadata:", "metadata:\n  resourceVersion: \""+there.Metadata.ResourceVersion+"\"", 1))})
	}
	patch := func(kind, text string) response {
		t.Helper()
		options := "?fieldManager=e2e"
		if kind == "apply-patch+yaml" {
			options += "&force=true"
		}
		return do(t, cluster.Request{Method: http.MethodPatch, Path: path + options, ContentType: "application/" + kind, Body: []byte(text)})
	}

	create(t, target, older).want(t, http.StatusCreated)
	put(newer).want(t, http.StatusOK)
	put(newer).want(t, http.StatusOK)
	put(older).refusedFor(t, "rollback")
	// Read in the other version, the stored exception is still the newer one.
	beta := target
	beta.Version = "v2beta1"
	olderBeta := seal(t, draft{name: "beta", namespace: ns, lives: 2 * time.Hour}.legacy("v2beta1"))[0]
	fixture.NextSecond(t)
	create(t, target, seal(t, draft{name: "beta", namespace: ns, lives: time.Hour}.legacy("v2"))[0]).want(t, http.StatusCreated)
	var there struct {
		Metadata struct{ ResourceVersion string }
	}
	decode(t, read(t, beta.Path("beta")), &there)
	do(t, cluster.Request{Method: http.MethodPut, Path: beta.Path("beta"), Body: []byte(strings.Replace(olderBeta, "metadata:", "metadata:\n  resourceVersion: \""+there.Metadata.ResourceVersion+"\"", 1))}).refusedFor(t, "rollback")

	patch("merge-patch+json", `{"metadata":{"labels":{"a":"b"}}}`).refusedFor(t, "altered")
	patch("merge-patch+json", `{"metadata":{"finalizers":["a/b"]}}`).refusedFor(t, "altered")
	patch("merge-patch+json", `{"spec":{"exceptions":[{"policyName":"*","ruleNames":["*"]}]}}`).refusedFor(t, "altered")
	patch("merge-patch+json", `{"metadata":{"annotations":null}}`).refusedFor(t, "unsigned")
	// The annotation of kubectl apply, and a server-side apply.
	note := must.Get(json.Marshal(newer))(t)
	patch("merge-patch+json", fmt.Sprintf(`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":%s}}}`, note)).want(t, http.StatusOK)
	patch("apply-patch+yaml", newer).want(t, http.StatusOK)
	patch("apply-patch+yaml", older).refusedFor(t, "rollback")

	// Argo CD deletes in the foreground. That does not wait for the garbage collector, which does not run
	// here: a dependent object with a finalizer would keep the exception, and Kyverno would apply it.
	do(t, cluster.Request{Method: http.MethodDelete, Path: path, Body: []byte(`{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Foreground"}`), ContentType: "application/json"}).want(t, http.StatusOK)
	until(t, "it to be gone", gonePath(path))
	until(t, "the Event", contains(eventsOf(ns), `"reason":"Removed"`))

	// A name from the API server is not the signed name.
	create(t, target, strings.Replace(newer, "name: life", "generateName: life-", 1)).refusedFor(t, "altered")
	// Delete all of them at once.
	remove(t, target.Path("")).want(t, http.StatusOK)
}

func decode(t *testing.T, r response, into any) {
	t.Helper()
	must.Do(t, cluster.Into(into)(r.Answer, nil))
}

// TestSwitchedOff: a user who may change the guard's webhook can bypass it. The doctor names the
// gap, and the guard reports the unsigned exception.
func TestSwitchedOff(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	ns := namespace(t)
	target := cluster.Target{Group: "policies.kyverno.io", Version: "v1", Namespace: ns}
	const selector = "/webhooks/0/namespaceSelector"
	patched(t, webhooks+"/polex-guard", "add", selector, `{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["`+ns+`"]}]}`)
	i.until(t, "the hole", func(ctx context.Context) error {
		return cluster.OK(live.Create(ctx, target, []byte(draft{name: "smuggled", namespace: ns}.policies("v1"))))
	})
	got := i.doctor(t, 1)
	expect.That(t, slices.Contains(got, "namespace-hole"), "the doctor says %q", got)
	i.until(t, "an Event", tells(ns, "Refused", "smuggled"))
	i.until(t, "the report", reported(ns, "smuggled unsigned fail"))
	patched(t, webhooks+"/polex-guard", "replace", selector, "{}")
	i.doctor(t, 0)
	// The unsigned exception cannot be changed, but deleted.
	i.until(t, "the hole to close", func(ctx context.Context) error {
		return refuses("unsigned")(live.Merge(ctx, target.Path("smuggled"),
			[]byte(`{"metadata":{"labels":{"a":"b"}}}`)))
	})
	remove(t, target.Path("smuggled")).want(t, http.StatusOK)
	i.until(t, "the deletion to be written down", tells(ns, "Deleted", "smuggled"))
}

// TestSelfExemption: the guard rejects exceptions that exempt exceptions from their protection,
// with any signer and in both groups.
func TestSelfExemption(t *testing.T) {
	settings{guard: "  guardPolicies: [protect-*]\n  guardNamespaces: [platform-security]\n"}.run(t).register(t)
	ns := namespace(t)
	for n, d := range []draft{{policy: "polex-verify"}, {policy: "protect-exceptions"}, {kind: "PolicyException"}} {
		for _, target := range []cluster.Target{served[0], served[2]} {
			if d.kind != "" && target.Group != "kyverno.io" {
				continue // its policy names the kinds
			}
			target.Namespace = ns
			d.name, d.namespace = fmt.Sprintf("self-%d", n), ns
			create(t, target, seal(t, d.in(target))[0]).refusedFor(t, "reaches-guard")
		}
	}
	reaching := strings.Replace(draft{name: "there", namespace: ns}.legacy("v2"), "namespaces: [team-a]", "namespaces: [platform-security]", 1)
	create(t, cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}, seal(t, reaching)[0]).refusedFor(t, "reaches-guard")
	// The guard runs in another namespace than in the manifests.
	home := strings.Replace(draft{name: "home", namespace: ns}.legacy("v2"), "namespaces: [team-a]", "namespaces: [default]", 1)
	create(t, cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}, seal(t, home)[0]).refusedFor(t, "reaches-guard")
	// No condition, or one that alone does not protect.
	open := strings.Replace(draft{name: "open", namespace: ns}.legacy("v2"), "kinds: [Pod], names: [web-*], namespaces: [team-a]", "selector: {matchLabels: {app: web}}", 1)
	create(t, cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}, seal(t, open)[0]).refusedFor(t, "reaches-guard")
	alone := strings.Replace(draft{name: "alone", namespace: ns}.policies("v1"), "matchConditions: [", "matchConditions: [{name: b, expression: has(object.spec)}, ", 1)
	create(t, cluster.Target{Group: "policies.kyverno.io", Version: "v1", Namespace: ns}, seal(t, alone)[0]).refusedFor(t, "reaches-guard")
}

// TestDeletion: a DELETE is allowed and reported, except in a dry run. An exception that waits for
// a finalizer stays valid until it is gone, and cannot be changed.
func TestDeletion(t *testing.T) {
	i := settings{}.run(t)
	ns := namespace(t)
	target := cluster.Target{Group: "policies.kyverno.io", Version: "v1", Namespace: ns}
	must.Do(t, live.CreateNamespace(t.Context(), ns+"-held"))
	before := []cluster.Target{target, {Group: "kyverno.io", Version: "v2"}}
	for n := range before {
		before[n].Namespace = ns + "-held"
		text := seal(t, draft{name: "held", namespace: ns + "-held"}.in(before[n]))[0]
		create(t, before[n], strings.Replace(text, "metadata:\n", "metadata:\n  finalizers: [example.com/held]\n", 1)).want(t, http.StatusCreated)
	}
	i.register(t)
	sealed := seal(t, draft{name: "a", namespace: ns}.policies("v1"), draft{name: "b", namespace: ns}.policies("v1"))
	create(t, target, sealed[0]).want(t, http.StatusCreated)
	create(t, target, sealed[1]).want(t, http.StatusCreated)
	// The guard that watches the exceptions reports it.
	i.until(t, "the report", reported(ns, "a verified pass", "b verified pass"))
	remove(t, target.Path("a")+"?dryRun=All").want(t, http.StatusOK)
	remove(t, target.Path("b")).want(t, http.StatusOK)
	i.until(t, "the deletion to be written down", tells(ns, "Deleted", "b"))
	got := stored(t, target)
	expect.That(t, slices.Equal(got, []string{"a"}), "there are %q", got)
	for _, target := range before {
		remove(t, target.Path("held")).want(t, http.StatusOK)
		held := target.Path("held")
		const wider = `{"spec":{"background":false,"policyRefs":[{"name":"require-limits","kind":"ValidatingPolicy"}]}}`
		merge(t, held, wider).refusedFor(t, "being-deleted")
		merge(t, held, `{"metadata":{"labels":{"a":"b"}}}`).refusedFor(t, "being-deleted")
		merge(t, held, `{"metadata":{"finalizers":[]}}`).want(t, http.StatusOK)
		got := stored(t, target)
		expect.That(t, len(got) == 0, "there are %q", got)
	}
}

// draft describes an exception for a test.
type draft struct {
	name, namespace string
	lives           time.Duration // 0 is an hour
	annotations     string        // more of them, as YAML flow: ", a: b"
	policy          string        // "" is require-probes
	kind            string        // the exempted kind; "" is Pod
}

// in returns its YAML for a group and version.
func (d draft) in(t cluster.Target) string {
	t.Namespace = d.namespace
	text := fixture.Draft{Name: d.name, Annotations: d.annotations, Policy: d.policy, Kind: d.kind}
	if d.lives != 0 {
		text.Lives = short(d.lives)
	}
	return text.In(t)
}

// legacy returns its YAML for kyverno.io.
func (d draft) legacy(version string) string {
	return d.in(cluster.Target{Group: exception.KyvernoGroup, Version: version})
}

// policies returns its YAML for policies.kyverno.io.
func (d draft) policies(version string) string {
	return d.in(cluster.Target{Group: exception.PoliciesGroup, Version: version})
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
	return response{must.Get(live.Do(t.Context(), r))(t)}
}

// read, remove, post and merge send requests of these kinds.
func read(t *testing.T, path string) response {
	t.Helper()
	return response{must.Get(live.Get(t.Context(), path))(t)}
}

func remove(t *testing.T, path string) response {
	t.Helper()
	return response{must.Get(live.Delete(t.Context(), path))(t)}
}

func post(t *testing.T, path string, body []byte) response {
	t.Helper()
	return response{must.Get(live.Post(t.Context(), path, body))(t)}
}

func merge(t *testing.T, path, patch string) response {
	t.Helper()
	return response{must.Get(live.Merge(t.Context(), path, []byte(patch)))(t)}
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
	must.Do(t, refused(r.Answer, reason))
}

// refused returns an error unless the answer is a rejection by the guard with the reason.
func refused(answer *cluster.Answer, reason string) error {
	if answer.OK() || !strings.Contains(answer.Message(), `admission webhook "guard.polex.dev" denied the request: [`+reason+"] ") {
		return fmt.Errorf("%d, want a refusal for %q: %s", answer.Code, reason, answer.Message())
	}
	return nil
}

// refuses checks that an answer is a rejection by the guard with the reason.
func refuses(reason string) func(*cluster.Answer, error) error {
	return func(answer *cluster.Answer, err error) error {
		if err == nil {
			err = refused(answer, reason)
		}
		return err
	}
}

// deleteAfter deletes objects at the end of the test, if they are there.
func deleteAfter(t *testing.T, paths ...string) {
	t.Cleanup(func() {
		for _, path := range paths {
			_, _ = live.Delete(context.Background(), path)
		}
	})
}

// create creates an exception.
func create(t *testing.T, target cluster.Target, text string) response {
	t.Helper()
	return response{must.Get(live.Create(t.Context(), target, []byte(text)))(t)}
}

// namespace makes a namespace for a test, and returns its name.
func namespace(t *testing.T) string {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	must.Do(t, live.CreateNamespace(t.Context(), name))
	t.Cleanup(func() {
		for _, group := range []cluster.Target{served[0], served[2]} {
			group.Namespace = name
			_, _ = live.Delete(context.Background(), group.Path(""))
		}
	})
	return name
}

// endOf returns the expiry of a signed exception.
func endOf(t *testing.T, sealed string) time.Time {
	t.Helper()
	doc := must.Get(exception.Parse([]byte(sealed), "sealed"))(t)
	life, err := lifetime.Of(doc, lifetime.Terms{})
	must.That(t, err == nil && !life.ExpiresAt.IsZero(), "%v: it has no end", err)
	return life.ExpiresAt
}

// widened returns a signed exception with another policy than the signed one.
func widened(t *testing.T, sealed string) string {
	t.Helper()
	wide := strings.Replace(sealed, "require-probes", "require-limits", 1)
	must.That(t, wide != sealed, "there is nothing to widen")
	return wide
}
