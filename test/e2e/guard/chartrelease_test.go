//go:build e2e

package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/servers"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

const (
	guardDeployment = "/apis/apps/v1/namespaces/" + guardNamespace + "/deployments/polex-guard"
	guardBudget     = "/apis/policy/v1/namespaces/" + guardNamespace + "/poddisruptionbudgets/polex-guard"
	guardSecret     = "/api/v1/namespaces/" + guardNamespace + "/secrets/polex-guard-tls"
)

// release is a release of the chart. The process stands for its Pods.
type release struct {
	delivered
	chart  string
	target cluster.Target // for exceptions
}

// installed installs the chart, and runs its guard.
func installed(t *testing.T, v values) release {
	t.Helper()
	ns := namespace(t)
	free := must.Get(servers.FreePorts(1))(t)
	r := release{chart: chartToLoopback(t, free[0]), target: served[0]}
	r.target.Namespace = ns
	mustHelm(t, v, "install", "polex-guard", r.chart, "--create-namespace")
	t.Cleanup(func() { // after a failure, nothing protects the following tests' objects
		kubectlAfterwards(t, "delete", "validatingadmissionpolicybindings", "--all")
		unregister(t)
		_, _ = live.Delete(context.Background(),
			"/apis/coordination.k8s.io/v1/namespaces/"+guardNamespace+"/leases/polex-guard")
	})
	r.delivered = delivered{instance: pod(t, mustHelm(t, nil, "get", "manifest", "polex-guard")), overlay: "self-managed"}
	port := r.webhook
	r.webhook = fmt.Sprintf("127.0.0.1:%d", free[0])
	r.args[slices.Index(r.args, port)] = r.webhook
	r.start(t)
	r.mountSecret(t, guardSecret, r.mounted("/tls"))
	r.until(t, "the guard to be ready", r.ready)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go r.writesStatus(ctx)
	return r
}

// chartToLoopback returns a copy of the chart with which the API server reaches a port of loopback.
// The Service leads there, and the webhooks use the port. All other fields are as delivered, except
// the version of Kubernetes: this API server was built without one.
func chartToLoopback(t *testing.T, port int) string {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.CopyFS(dir, os.DirFS(fixture.FromRoot(chartFolder))))
	for file, change := range map[string][2]string{
		"Chart.yaml":                    {`kubeVersion: ">=1.30.0-0"`, ""},
		"files/guard/base/webhook.yaml": {"port: 443", fmt.Sprintf("port: %d", port)},
		"files/guard/base/service.yaml": {"selector: {app.kubernetes.io/name: polex-guard}", "type: ExternalName\n  externalName: localhost"},
	} {
		path := filepath.Join(dir, filepath.FromSlash(file))
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), change[0]) {
			t.Fatalf("%s holds no %q (%v)", file, change[0], err)
		}
		must.Do(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), change[0], change[1])), 0o600))
	}
	return dir
}

// writesStatus writes the status of the Deployment and of the PodDisruptionBudget while the guard is
// ready, as the controllers and kubelet do.
func (r release) writesStatus(ctx context.Context) {
	for range time.Tick(200 * time.Millisecond) {
		if ctx.Err() != nil {
			return
		}
		if r.ready(ctx) != nil {
			continue
		}
		for path, status := range map[string]string{
			guardDeployment: `"replicas":%[2]d,"updatedReplicas":%[2]d,"readyReplicas":%[2]d,"availableReplicas":%[2]d,"conditions":[{"type":"Available","status":"True"},{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}]`,
			guardBudget:     `"currentHealthy":%[2]d,"desiredHealthy":1,"disruptionsAllowed":1,"expectedPods":%[2]d`,
		} {
			answer, err := live.Get(ctx, path)
			if err != nil || !answer.OK() {
				continue
			}
			var o struct {
				Metadata struct{ Generation int }
				Spec     struct{ Replicas int }
			}
			if json.Unmarshal(answer.Body, &o) != nil {
				continue
			}
			_, _ = live.Merge(ctx, path+"/status", fmt.Appendf(nil,
				`{"status":{"observedGeneration":%[1]d,`+status+`}}`, o.Metadata.Generation, o.Spec.Replicas))
		}
	}
}

// upgrade upgrades the release, and waits for the guard.
func (r release) upgrade(t *testing.T, v values) {
	t.Helper()
	mustHelm(t, v, "upgrade", "polex-guard", r.chart, "--wait", "--timeout", "60s")
}

// rejects: the API server asks the guard, which rejects an unsigned exception.
func (r release) rejects(t *testing.T) {
	t.Helper()
	r.asked(t)
	create(t, r.target, draft{name: "rejected", namespace: r.target.Namespace}.in(r.target)).refusedFor(t, "unsigned")
}

// stores: the API server stores an unsigned exception.
func (r release) stores(t *testing.T, name string) {
	t.Helper()
	text := draft{name: name, namespace: r.target.Namespace}.in(r.target)
	until(t, "the API server to store "+name, func(ctx context.Context) error {
		return cluster.OK(live.DryRun(ctx, r.target, []byte(text)))
	})
	create(t, r.target, text).want(t, http.StatusCreated)
}

// isProtected waits until a stranger can change neither the configuration nor the webhook.
func (r release) isProtected(t *testing.T) {
	t.Helper()
	until(t, "the protection", func(context.Context) error {
		return errors.Join(refusesIt(stranger.touches(t, "configmap/polex-guard", guardNamespace)),
			refusesIt(stranger.touches(t, "validatingwebhookconfiguration/polex-guard", "")))
	})
}

// TestChartRelease: the life of a release with the real Helm. In the mode audit everything is stored and reported; the
// mode enforce rejects without a gap, also while the certificate rotates during an upgrade; a rollback takes effect;
// and during and after an uninstall no request fails for a guard that does not answer.
func TestChartRelease(t *testing.T) {
	apply(t, kyvernoDeployment)
	deleteAfter(t, "/apis/apps/v1/namespaces/kyverno/deployments/kyverno-admission-controller")
	permitEverything(t)
	audit, enforce := chartValues(t), enforcing(t)
	r := installed(t, audit)

	r.upgrade(t, audit) // and waits for the guard
	r.stores(t, "audited")
	r.until(t, "a report", reported(r.target.Namespace, "audited unsigned fail"))
	remove(t, r.target.Path("audited")).want(t, http.StatusOK)

	// Enforcing has no gap: each webhook has its caBundle already.
	var registered admissionregistrationv1.ValidatingWebhookConfiguration
	decode(t, read(t, webhooks+"/polex-guard"), &registered)
	for _, hook := range registered.Webhooks {
		expect.That(t, len(hook.ClientConfig.CABundle) != 0, "%s has no caBundle in the mode audit", hook.Name)
	}
	expect.That(t, len(registered.Webhooks) == 2, "there are %d webhooks", len(registered.Webhooks))
	s := pour(t, r.target.Namespace)
	mustHelm(t, nil, documented(t, r.chart, "--set mode=enforce")...)
	r.rejects(t)
	s.hadAnswers(t)
	mustHelm(t, nil, append(documented(t, r.chart, "--set protect.enabled=true"), "--set", "protect.users={admin}")...)
	r.isProtected(t)
	r.isFine(t)

	t.Run("rotation during an upgrade", func(t *testing.T) {
		s := pour(t, r.target.Namespace)
		s.flows(t, r.instance, 20)
		r.renews(t, guardSecret, r.mounted("/tls"), func() { r.upgrade(t, enforce.with(values{"replicas": 3})) })
		r.upgrade(t, enforce)
		s.flows(t, r.instance, 20)
		s.ends(t)
		r.isFine(t)
	})

	t.Run("rollback", func(t *testing.T) {
		mustHelm(t, nil, "rollback", "polex-guard", "1", "--wait", "--timeout", "60s")
		r.stores(t, "rolled-back")
		r.upgrade(t, enforce)
		r.rejects(t)
	})

	t.Run("by a stranger", func(t *testing.T) {
		r.isProtected(t)
		as := []string{"--kube-as-user", stranger.name, "--kube-as-group", "omnipotents", "--kube-as-group", "system:authenticated"}
		// The last one deletes the protection, because no admission policy protects admission policies.
		for _, tc := range []struct{ says, command string }{
			{notAmong, "upgrade polex-guard " + r.chart + " --reset-then-reuse-values --set mode=audit"},
			{notAmong, "rollback polex-guard 1"},
			{"failed to delete", "uninstall polex-guard"},
		} {
			out, err := helm(t, nil, append(strings.Fields(tc.command), as...)...)
			expect.That(t, err != nil && strings.Contains(err.Error(), tc.says), "helm %s: %v%s", tc.command, err, out)
		}
		r.rejects(t)
		r.upgrade(t, enforce)
		r.isFine(t)
	})

	t.Run("uninstall", func(t *testing.T) {
		s := pour(t, r.target.Namespace)
		s.flows(t, r.instance, 20)
		manifest := mustHelm(t, nil, "get", "manifest", "polex-guard")
		stopped := r.stopsWithDeployment(t)
		mustHelm(t, nil, "uninstall", "polex-guard", "--wait", "--timeout", "60s")
		<-stopped
		r.stores(t, "afterwards")
		s.hadAnswers(t)
		leftOf(t, manifest)
	})
}

// TestChartUninstall: the documented order, by the documented accounts. After the first step no
// account can leave a webhook that fails, not even one that may not delete webhooks.
func TestChartUninstall(t *testing.T) {
	mustKubectl(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: deployers}, rules: [{apiGroups: ["", apps, policy, networking.k8s.io, rbac.authorization.k8s.io], resources: ["*"], verbs: ["*"]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: deployers},
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: deployers}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: deployers}]}`, "apply", "-f", "-")
	r := installed(t, enforcing(t))
	r.rejects(t)

	s := pour(t, r.target.Namespace)
	s.flows(t, r.instance, 20)
	manifest := mustHelm(t, nil, "get", "manifest", "polex-guard")
	mustHelm(t, nil, documented(t, r.chart, "mode=audit,protect.enabled=false")...)
	stopped := r.stopsWithDeployment(t)
	// Helm says that it left the webhook, and is content.
	if out := mustHelm(t, nil, "uninstall", "polex-guard", "--kube-as-user", "deployer", "--kube-as-group", "deployers", "--kube-as-group", "system:authenticated"); !strings.Contains(out, "[ValidatingWebhookConfiguration] polex-guard") {
		t.Errorf("an account that may not delete webhooks uninstalls everything: %s", out)
	}
	<-stopped
	expect.NoError(t, contains(webhooks+"/polex-guard", `"deletions.guard.polex.dev"`)(t.Context()))
	r.stores(t, "stored")
	remove(t, r.target.Path("stored")).want(t, http.StatusOK)
	s.hadAnswers(t)
	mustKubectl(t, "", "delete", "validatingwebhookconfiguration", "polex-guard")
	leftOf(t, manifest)
}

// enforcing returns values for the mode enforce with protect.
func enforcing(t *testing.T) values {
	t.Helper()
	return chartValues(t).with(values{"mode": "enforce", "protect": values{"enabled": true, "users": []string{"admin"}, "groups": []string{administratorGroup}}})
}

// stopsWithDeployment stops the guard when its Deployment is deleted, as the controllers and kubelet
// do. The channel is closed then.
func (r release) stopsWithDeployment(t *testing.T) chan struct{} {
	t.Helper()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for range time.Tick(50 * time.Millisecond) {
			if t.Context().Err() != nil {
				return
			}
			if gonePath(guardDeployment)(t.Context()) == nil {
				r.group.Stop()
				return
			}
		}
	}()
	return stopped
}

// hadAnswers stops the stream. It fails if a request had no answer; with the webhook, the verdicts change.
func (s *stream) hadAnswers(t *testing.T) {
	t.Helper()
	s.end()
	s.ending.Wait()
	t.Logf("%d requests were answered", s.answered+len(s.wrong))
	if len(s.unanswered) > 0 {
		t.Errorf("%d requests had no answer, the first: %v", len(s.unanswered), s.unanswered[0])
	}
}

// leftOf fails if an object of the manifests is there.
func leftOf(t *testing.T, manifests string) {
	t.Helper()
	for _, o := range objectsOf(t, manifests) {
		args := []string{"get", o.GetKind(), o.GetName(), "--ignore-not-found", "-o", "name"}
		if o.GetNamespace() != "" {
			args = append(args, "--namespace", o.GetNamespace())
		}
		expect.Is(t, "left", "", mustKubectl(t, "", args...))
	}
}

// TestChartCertificates: the issuer of the certificate can change in the mode audit, in both
// directions, and the webhook rejects nothing meanwhile.
func TestChartCertificates(t *testing.T) {
	definedCertificates(t)
	r := installed(t, chartValues(t))
	r.group.Stop() // no guard answers
	upgrade := func(certificates string, more ...string) error {
		_, err := helm(t, chartValues(t).with(values{"certificates": certificates}), append([]string{"upgrade", "polex-guard", r.chart}, more...)...)
		return err
	}
	must.Do(t, upgrade("certManager"))
	r.stores(t, "by-cert-manager")
	read(t, guardSecret).want(t, http.StatusNotFound)
	read(t, "/apis/cert-manager.io/v1/namespaces/"+guardNamespace+"/certificates/polex-guard").want(t, http.StatusOK)
	// cert-manager makes the Secret.
	mustKubectl(t, "", "create", "secret", "generic", "polex-guard-tls", "--namespace", guardNamespace)
	if err := upgrade("selfManaged"); err == nil || !strings.Contains(err.Error(), "cannot be imported into the current release") {
		t.Errorf("the Secret of cert-manager: %v", err)
	}
	expect.NoError(t, upgrade("selfManaged", "--take-ownership"))
	r.stores(t, "by-the-guard")
	mustHelm(t, nil, documented(t, r.chart, "helm uninstall")...)
}
