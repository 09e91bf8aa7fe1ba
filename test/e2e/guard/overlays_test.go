//go:build e2e

package guard

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// TestDelivered: the guard does all of its tasks with the manifests of each overlay: with their
// arguments, webhook and Service, and only the permissions of their roles.
func TestDelivered(t *testing.T) {
	definedCertificates(t)
	for _, overlay := range overlays {
		t.Run(overlay, func(t *testing.T) {
			before := len(audited(t))
			i := deliver(t, overlay)
			refusesEverywhere(t)
			keeps(t, i)
			i.isFine(t)
			i.usesItsRights(t, before)
			i.needsItsRights(t)
			i.staysWithinLimits(t)
		})
	}
}

// delivered is a guard that runs according to its manifests.
type delivered struct {
	*instance
	manifests string
	overlay   string
}

// deliver installs an overlay, runs its guard, and waits until the API server calls it.
func deliver(t *testing.T, overlay string) delivered {
	t.Helper()
	left(t)
	manifests := installation{overlay: overlay, args: []string{"--enforce-existing", "--recheck-interval=1s"}}.build(t)
	apply(t, manifests)
	t.Cleanup(func() {
		unregister(t)
		withdraw(t, manifests)
		for _, path := range []string{"/apis/apps/v1/namespaces/kyverno/deployments/kyverno-admission-controller", "/apis/coordination.k8s.io/v1/namespaces/" + guardNamespace + "/leases/polex-guard"} {
			_, _ = live.Do(context.Background(), cluster.Request{Method: http.MethodDelete, Path: path})
		}
	})
	apply(t, kyvernoDeployment)
	// The policies that protect the guard do not block the following steps.
	k := administrators{users: "['admin']"}
	if overlay == "self-managed" {
		k.certifiers = "['" + account + "']"
	}
	protect(t, k, person{name: "admin"})
	i := delivered{instance: pod(t, manifests), manifests: manifests, overlay: overlay}
	// As with API servers up to Kubernetes 1.33, which cannot stream existing objects: the guard
	// lists them.
	i.env = append(i.env, "KUBE_FEATURE_WatchListClient=false")
	i.serviceToLoopback(t)
	if overlay == "cert-manager" {
		certifiedBy(t, certify(t, i.mounted("/tls"), "polex-guard."+guardNamespace+".svc"))
	}
	i.start(t)
	if overlay == "self-managed" {
		i.mountSecret(t, "/api/v1/namespaces/"+guardNamespace+"/secrets/polex-guard-tls", i.mounted("/tls"))
	}
	i.until(t, "the guard to be ready", i.ready)
	i.asked(t)
	return i
}

// kyvernoDeployment is the Deployment that check reads, and the permissions of its account.
const kyvernoDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: kyverno-admission-controller, namespace: kyverno, labels: {app.kubernetes.io/component: admission-controller}}
spec:
  selector: {matchLabels: {app: kyverno}}
  template:
    metadata: {labels: {app: kyverno}}
    spec: {serviceAccountName: kyverno-admission-controller, containers: [{name: kyverno, image: kyverno, args: [--enablePolicyException=true, --exceptionNamespace=exceptions]}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: kyverno-reads-exceptions}
rules: [{apiGroups: [kyverno.io, policies.kyverno.io], resources: [policyexceptions], verbs: [list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: kyverno-reads-exceptions}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kyverno-reads-exceptions}
subjects: [{kind: ServiceAccount, name: kyverno-admission-controller, namespace: kyverno}]
`

// everywhere lists namespaces, first those that webhooks often exclude.
var everywhere = []string{"kube-system", "kyverno", guardNamespace, "default", "kube-public", "kube-node-lease"}

// refusesEverywhere: the guard rejects unsigned exceptions in every namespace and version.
func refusesEverywhere(t *testing.T) {
	t.Helper()
	for _, ns := range everywhere {
		for _, target := range served {
			target.Namespace = ns
			create(t, target, draft{name: "unsigned", namespace: ns}.in(target)).refusedFor(t, "unsigned")
		}
	}
	// This test finds a gap if there is one.
	target := served[0]
	target.Namespace = "kube-system"
	patchedByKubectl(t, "validatingwebhookconfiguration/polex-guard", `[{"op":"add","path":"/webhooks/0/namespaceSelector","value":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["kube-system"]}]}}]`)
	until(t, "the hole", func(ctx context.Context) error {
		answer, err := live.DryRun(ctx, target, []byte(draft{name: "unsigned", namespace: "kube-system"}.in(target)))
		if err == nil && !answer.OK() {
			err = errors.New(answer.Message())
		}
		return err
	})
	patchedByKubectl(t, "validatingwebhookconfiguration/polex-guard", `[{"op":"replace","path":"/webhooks/0/namespaceSelector","value":{}}]`)
	until(t, "the hole to close", func(ctx context.Context) error {
		answer, err := live.DryRun(ctx, target, []byte(draft{name: "unsigned", namespace: "kube-system"}.in(target)))
		if err != nil {
			return err
		}
		return refused(answer, "unsigned")
	})
}

// until repeats a check until it succeeds, while the API server runs, for waitLimit at most.
func until(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	if err := live.Until(ctx, what, ask); err != nil {
		t.Fatal(err)
	}
}

const keptNamespace = "delivered"

// left creates unsigned exceptions in each group and version, before the guard starts.
func left(t *testing.T) {
	t.Helper()
	if err := live.CreateNamespace(t.Context(), keptNamespace); err != nil {
		t.Fatal(err)
	}
	for _, target := range served {
		target.Namespace = keptNamespace
		create(t, target, draft{name: "left-" + target.Version, namespace: keptNamespace}.in(target)).want(t, http.StatusCreated)
	}
}

// keeps: the guard checks, reports and deletes existing exceptions, and deletes expired ones.
func keeps(t *testing.T, i delivered) {
	t.Helper()
	events := "/apis/events.k8s.io/v1/namespaces/" + keptNamespace + "/events"
	happened := func(reason string) {
		t.Helper()
		i.until(t, reason, func(ctx context.Context) error { return contains(ctx, events, `"reason":"`+reason+`"`) })
	}
	happened("Refused")
	happened("Removed")
	i.until(t, "the Lease", func(ctx context.Context) error {
		return contains(ctx, "/apis/coordination.k8s.io/v1/namespaces/"+guardNamespace+"/leases/polex-guard", `"holderIdentity":"`)
	})
	reports := "/apis/wgpolicyk8s.io/v1alpha2/namespaces/" + keptNamespace + "/policyreports/polex-guard"
	i.until(t, "what was left to go", func(ctx context.Context) error { return gonePath(ctx, reports) })

	kept := served[0]
	kept.Namespace = keptNamespace
	create(t, kept, seal(t, draft{name: "kept", namespace: keptNamespace}.in(kept))[0]).want(t, http.StatusCreated)
	i.until(t, "a report", func(ctx context.Context) error {
		return reported(ctx, keptNamespace, []string{"kept verified pass"})
	})

	var ending []cluster.Target
	for _, target := range []cluster.Target{served[1], served[4]} { // not the watched versions
		target.Namespace = keptNamespace
		// Two deletions give one Event with a count.
		for range 2 {
			create(t, target, seal(t, draft{name: "deleted", namespace: keptNamespace}.in(target))[0]).want(t, http.StatusCreated)
			do(t, cluster.Request{Method: http.MethodDelete, Path: target.Path("deleted")}).want(t, http.StatusOK)
		}
		create(t, target, seal(t, draft{name: "short", namespace: keptNamespace, lives: 8 * time.Second}.in(target))[0]).want(t, http.StatusCreated)
		ending = append(ending, target)
	}
	happened("Deleted")
	i.until(t, "a report on what is signed", func(ctx context.Context) error {
		return reported(ctx, keptNamespace, []string{"kept verified pass", "short verified pass", "short verified pass"})
	})
	for _, target := range ending {
		i.until(t, "the exception to end", func(ctx context.Context) error { return gonePath(ctx, target.Path("short")) })
	}
	// And the same in newer reports, when the cluster has them.
	open := servesOpenReports(t, keptNamespace)
	create(t, kept, seal(t, draft{name: "more", namespace: keptNamespace}.in(kept))[0]).want(t, http.StatusCreated)
	i.until(t, "a report of the newer kind", func(ctx context.Context) error {
		// So that the report changes.
		do(t, cluster.Request{Method: http.MethodDelete, Path: kept.Path("more")})
		create(t, kept, seal(t, draft{name: "more", namespace: keptNamespace}.in(kept))[0]).want(t, http.StatusCreated)
		return reportedAt(ctx, open, []string{"kept verified pass", "more verified pass"})
	})
	do(t, cluster.Request{Method: http.MethodDelete, Path: kept.Path("more")}).want(t, http.StatusOK)
	i.until(t, "that report to follow", func(ctx context.Context) error { return reportedAt(ctx, open, []string{"kept verified pass"}) })
	i.until(t, "the other report to go", func(ctx context.Context) error { return gonePath(ctx, reports) })
	do(t, cluster.Request{Method: http.MethodDelete, Path: kept.Path("kept")}).want(t, http.StatusOK)
	i.until(t, "the report to go", func(ctx context.Context) error { return gonePath(ctx, open) })
}

// gonePath returns an error while the object at a path exists.
func gonePath(ctx context.Context, path string) error {
	answer, err := live.Do(ctx, cluster.Request{Method: http.MethodGet, Path: path})
	if err == nil && answer.Code != http.StatusNotFound {
		err = errors.New("it is there")
	}
	return err
}
