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

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// TestEveryNamespace: the guard checks exceptions in every namespace, also in those of the cluster,
// of Kyverno and of the guard.
func TestEveryNamespace(t *testing.T) {
	settings{}.run(t).register(t)
	for _, ns := range []string{"default", "kube-system", "kube-public", "kube-node-lease", "kyverno", "polex-system"} {
		if err := live.CreateNamespace(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
		for _, target := range served {
			target.Namespace = ns
			create(t, target, draft{name: "anywhere", namespace: ns}.in(target)).refusedFor(t, "unsigned")
		}
	}
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
		answer, err := live.Create(ctx, target, []byte(draft{name: "smuggled", namespace: ns}.policies("v1")))
		if err == nil && !answer.OK() {
			err = errors.New(answer.Message())
		}
		return err
	})
	if got := i.doctor(t, 1); !slices.Contains(got, "namespace-hole") {
		t.Errorf("the doctor says %q", got)
	}
	i.until(t, "an Event", func(ctx context.Context) error { return tells(ctx, ns, "Refused", "smuggled") })
	i.until(t, "the report", func(ctx context.Context) error { return reported(ctx, ns, []string{"smuggled unsigned fail"}) })
	patched(t, webhooks+"/polex-guard", "replace", selector, "{}")
	i.doctor(t, 0)
	// The unsigned exception cannot be changed, but deleted.
	i.until(t, "the hole to close", func(ctx context.Context) error {
		answer, err := live.Do(ctx, cluster.Request{Method: http.MethodPatch, Path: target.Path("smuggled"), ContentType: "application/merge-patch+json", Body: []byte(`{"metadata":{"labels":{"a":"b"}}}`)})
		if err == nil {
			err = refused(answer, "unsigned")
		}
		return err
	})
	do(t, cluster.Request{Method: http.MethodDelete, Path: target.Path("smuggled")}).want(t, http.StatusOK)
	i.until(t, "the deletion to be written down", func(ctx context.Context) error { return tells(ctx, ns, "Deleted", "smuggled") })
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
	if err := live.CreateNamespace(t.Context(), ns+"-held"); err != nil {
		t.Fatal(err)
	}
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
	remove := func(name, options string) response {
		return do(t, cluster.Request{Method: http.MethodDelete, Path: target.Path(name) + options})
	}
	// The guard that watches the exceptions reports it.
	i.until(t, "the report", func(ctx context.Context) error {
		return reported(ctx, ns, []string{"a verified pass", "b verified pass"})
	})
	remove("a", "?dryRun=All").want(t, http.StatusOK)
	remove("b", "").want(t, http.StatusOK)
	i.until(t, "the deletion to be written down", func(ctx context.Context) error { return tells(ctx, ns, "Deleted", "b") })
	if got := stored(t, target); !slices.Equal(got, []string{"a"}) {
		t.Errorf("there are %q", got)
	}
	for _, target := range before {
		do(t, cluster.Request{Method: http.MethodDelete, Path: target.Path("held")}).want(t, http.StatusOK)
		patch := func(text string) response {
			return do(t, cluster.Request{Method: http.MethodPatch, Path: target.Path("held"), ContentType: "application/merge-patch+json", Body: []byte(text)})
		}
		patch(`{"spec":{"background":false,"policyRefs":[{"name":"require-limits","kind":"ValidatingPolicy"}]}}`).refusedFor(t, "being-deleted")
		patch(`{"metadata":{"labels":{"a":"b"}}}`).refusedFor(t, "being-deleted")
		patch(`{"metadata":{"finalizers":[]}}`).want(t, http.StatusOK)
		if got := stored(t, target); len(got) != 0 {
			t.Errorf("there are %q", got)
		}
	}
}
