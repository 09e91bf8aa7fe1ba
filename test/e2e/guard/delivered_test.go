//go:build e2e

package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// overlays are the manifests that a user installs.
var overlays = []string{"cert-manager", "self-managed"}

// TestDeliveredTrustsNobody: with the unchanged manifests, the guard does not start, and prints the reason.
func TestDeliveredTrustsNobody(t *testing.T) {
	for _, overlay := range overlays {
		delivered := built(t, "overlays/"+overlay)
		apply(t, namespaceOf(t, delivered))
		i := pod(t, delivered)
		out, err := exec.CommandContext(t.Context(), folder+"/polex-guard", i.args...).CombinedOutput()
		expect.That(t, err != nil && strings.Contains(string(out), "the trust policy names no authority"),
			"%s: %v\n%s", overlay, err, out)
	}
}

// namespaceOf returns the objects that the token of the guard's account requires: its Namespace and ServiceAccount.
func namespaceOf(t *testing.T, manifests string) string {
	t.Helper()
	return edited(t, manifests, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "Namespace" || o.GetKind() == "ServiceAccount"
	})
}

// TestDeliveredApply: the API server accepts every object of every folder, knows all fields, and accepts it again.
func TestDeliveredApply(t *testing.T) {
	definedCertificates(t)
	for _, overlay := range overlays {
		manifests := installation{overlay: overlay}.build(t)
		apply(t, manifests)
		t.Cleanup(func() { withdraw(t, manifests) })
		apply(t, manifests)
		image := deployment(t, manifests).Spec.Template.Spec.Containers[0].Image
		expect.That(t, strings.Contains(image, "@sha256:"), "%s: the image is %s", overlay, image)
	}
}

// withdraw deletes the objects that affect the whole cluster.
func withdraw(t *testing.T, manifests string) {
	t.Helper()
	for _, o := range objectsOf(t, manifests) {
		switch o.GetKind() {
		case "ValidatingWebhookConfiguration", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding":
			args := []string{"delete", "--ignore-not-found", o.GetKind(), o.GetName()}
			if ns := o.GetNamespace(); ns != "" {
				args = append(args, "--namespace", ns)
			}
			kubectlAfterwards(t, args...)
		}
	}
}

// TestDeliveredRestricted: the namespace enforces the level restricted. It admits a Pod of the
// Deployment, and rejects less restricted ones.
func TestDeliveredRestricted(t *testing.T) {
	manifests := installation{overlay: "self-managed"}.build(t)
	apply(t, namespaceOf(t, manifests))
	yes, no := true, false
	for _, tc := range []struct {
		name   string
		loosen func(*corev1.PodSpec)
	}{
		{"as delivered", nil},
		{"as root", func(s *corev1.PodSpec) { s.SecurityContext.RunAsUser = new(int64) }},
		{"as root by its image", func(s *corev1.PodSpec) { s.SecurityContext.RunAsNonRoot = &no }},
		{"without seccomp", func(s *corev1.PodSpec) { s.SecurityContext.SeccompProfile = nil }},
		{"with capabilities", func(s *corev1.PodSpec) { s.Containers[0].SecurityContext.Capabilities = nil }},
		{"with escalation", func(s *corev1.PodSpec) { s.Containers[0].SecurityContext.AllowPrivilegeEscalation = &yes }},
		{"with the host's network", func(s *corev1.PodSpec) { s.HostNetwork = true }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			template := deployment(t, manifests).Spec.Template
			if tc.loosen != nil {
				tc.loosen(&template.Spec)
			}
			text, err := json.Marshal(corev1.Pod{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
				ObjectMeta: metav1.ObjectMeta{Name: "polex-guard-0", Namespace: guardNamespace, Labels: template.Labels},
				Spec:       template.Spec,
			})
			must.Do(t, err)
			_, err = kubectl(t, string(text), "create", "--dry-run=server", "--validate=strict", "-f", "-")
			switch {
			case tc.loosen == nil && err != nil:
				t.Error(err)
			case tc.loosen != nil && (err == nil || !strings.Contains(err.Error(), `violates PodSecurity "restricted`)):
				t.Errorf("it is admitted: %v", err)
			}
		})
	}
	spec := deployment(t, manifests).Spec.Template.Spec
	if c := spec.Containers[0].SecurityContext; c.ReadOnlyRootFilesystem == nil || !*c.ReadOnlyRootFilesystem {
		t.Error("its root file system can be written to, which the level restricted does not ask about")
	}
}

// TestDeliveredPorts: the Service, the NetworkPolicy and the probes name the default ports of the process.
func TestDeliveredPorts(t *testing.T) {
	manifests := built(t, "base")
	ports := map[string]int32{}
	for _, p := range deployment(t, manifests).Spec.Template.Spec.Containers[0].Ports {
		ports[p.Name] = p.ContainerPort
	}
	help := must.Get(exec.CommandContext(t.Context(), folder+"/polex-guard", "serve", "--help").Output())(t)
	for _, name := range []string{"webhook", "metrics", "health"} {
		expect.That(t, strings.Contains(string(help), fmt.Sprintf(`(default ":%d")`, ports[name])),
			"the port %s is %d, and not where the guard listens", name, ports[name])
	}
	var service corev1.Service
	only(t, manifests, "Service", "polex-guard", &service)
	for _, p := range service.Spec.Ports {
		expect.That(t, ports[p.TargetPort.StrVal] != 0, "the Service leads to %s", p.TargetPort.String())
	}
}

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
			_, _ = live.Delete(context.Background(), path)
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
	// As with API servers up to Kubernetes 1.33, which cannot stream existing objects: the guard lists them.
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
		return cluster.OK(live.DryRun(ctx, target, []byte(draft{name: "unsigned",
			namespace: "kube-system"}.in(target))))
	})
	patchedByKubectl(t, "validatingwebhookconfiguration/polex-guard", `[{"op":"replace","path":"/webhooks/0/namespaceSelector","value":{}}]`)
	until(t, "the hole to close", func(ctx context.Context) error {
		return refuses("unsigned")(live.DryRun(ctx, target, []byte(draft{name: "unsigned",
			namespace: "kube-system"}.in(target))))
	})
}

// until repeats a check until it succeeds, while the API server runs, for waitLimit at most.
func until(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	must.Do(t, live.Until(ctx, what, ask))
}

const keptNamespace = "delivered"

// left creates unsigned exceptions in each group and version, before the guard starts.
func left(t *testing.T) {
	t.Helper()
	must.Do(t, live.CreateNamespace(t.Context(), keptNamespace))
	for _, target := range served {
		target.Namespace = keptNamespace
		create(t, target, draft{name: "left-" + target.Version, namespace: keptNamespace}.in(target)).want(t, http.StatusCreated)
	}
}

// keeps: the guard checks, reports and deletes existing exceptions, and deletes expired ones.
func keeps(t *testing.T, i delivered) {
	t.Helper()
	events := eventsOf(keptNamespace)
	happened := func(reason string) {
		t.Helper()
		i.until(t, reason, contains(events, `"reason":"`+reason+`"`))
	}
	happened("Refused")
	happened("Removed")
	i.until(t, "the Lease", contains("/apis/coordination.k8s.io/v1/namespaces/"+guardNamespace+"/leases/polex-guard",
		`"holderIdentity":"`))
	reports := "/apis/wgpolicyk8s.io/v1alpha2/namespaces/" + keptNamespace + "/policyreports/polex-guard"
	i.until(t, "what was left to go", gonePath(reports))

	kept := served[0]
	kept.Namespace = keptNamespace
	create(t, kept, seal(t, draft{name: "kept", namespace: keptNamespace}.in(kept))[0]).want(t, http.StatusCreated)
	i.until(t, "a report", reported(keptNamespace, "kept verified pass"))

	var ending []cluster.Target
	for _, target := range []cluster.Target{served[1], served[4]} { // not the watched versions
		target.Namespace = keptNamespace
		// Two deletions give one Event with a count.
		for range 2 {
			create(t, target, seal(t, draft{name: "deleted", namespace: keptNamespace}.in(target))[0]).want(t, http.StatusCreated)
			remove(t, target.Path("deleted")).want(t, http.StatusOK)
		}
		create(t, target, seal(t, draft{name: "short", namespace: keptNamespace, lives: 8 * time.Second}.in(target))[0]).want(t, http.StatusCreated)
		ending = append(ending, target)
	}
	happened("Deleted")
	i.until(t, "a report on what is signed", reported(keptNamespace, "kept verified pass", "short verified pass",
		"short verified pass"))
	for _, target := range ending {
		i.until(t, "the exception to end", gonePath(target.Path("short")))
	}
	// And the same in newer reports, when the cluster has them.
	open := servesOpenReports(t, keptNamespace)
	create(t, kept, seal(t, draft{name: "more", namespace: keptNamespace}.in(kept))[0]).want(t, http.StatusCreated)
	i.until(t, "a report of the newer kind", func(ctx context.Context) error {
		// So that the report changes.
		remove(t, kept.Path("more"))
		create(t, kept, seal(t, draft{name: "more", namespace: keptNamespace}.in(kept))[0]).want(t, http.StatusCreated)
		return reportedAt(open, "kept verified pass", "more verified pass")(ctx)
	})
	remove(t, kept.Path("more")).want(t, http.StatusOK)
	i.until(t, "that report to follow", reportedAt(open, "kept verified pass"))
	i.until(t, "the other report to go", gonePath(reports))
	remove(t, kept.Path("kept")).want(t, http.StatusOK)
	i.until(t, "the report to go", gonePath(open))
}

// gonePath checks that there is no object at a path.
func gonePath(path string) check {
	return func(ctx context.Context) error {
		answer, err := live.Get(ctx, path)
		if err == nil && answer.Code != http.StatusNotFound {
			err = fmt.Errorf("it is there: %s", answer.Message())
		}
		return err
	}
}
