//go:build e2e

package story_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/test/e2e/story"
	"github.com/polex-dev/polex/test/must"
)

// drifts: while the guard is off, an exception that is not in Git is created in the cluster, and a
// signed one is changed. The audit report has these two findings only.
func drifts(t *testing.T) {
	kubeconfig := auditor(t)
	drift := []string{"--kubeconfig", kubeconfig, "--fail-on", "drift"}
	calm := audited(t, 0, drift...).Findings
	byHand, signed := story.Kinds[0], story.Kinds[1]
	stray := byHand.Exception(story.Ask{Name: "stray", Namespace: story.Team})

	must.Do(t, world.GuardOff(t.Context()))
	t.Cleanup(func() { must.Do(t, world.GuardOn(context.Background())) })
	admitted(t, stray)
	// Argo CD does not remove a label that Git does not have.
	label := func(change string) {
		must.Get(world.Kubectl(t.Context(), "label", signed.Resource, "-n", story.Namespace, "web", change))(t)
	}
	label("team=b")
	object := "PolicyException." + byHand.Group() + " " + story.Team + "/stray"
	want := append([]finding{
		{"cluster-altered", "PolicyException." + signed.Group() + " " + story.Namespace + "/web"},
		{"cluster-not-in-git", object},
		{"cluster-unsigned", object},
	}, calm...)
	if diff := cmp.Diff(want, audited(t, 1, drift...).Findings); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	label("team-")
	must.Get(world.Delete(t.Context(), stray))(t)
	if diff := cmp.Diff(calm, audited(t, 0, drift...).Findings); diff != "" {
		t.Errorf("findings, when all is as it was (-want +got):\n%s", diff)
	}

	stranger := must.Get(world.Account(t.Context(), "stranger"))(t)
	text := must.Get(os.ReadFile(kubeconfig))(t)
	elsewhere := func(name, from, to string) string {
		path := filepath.Join(t.TempDir(), name)
		must.Do(t, os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o600))
		return path
	}
	for _, failing := range []struct {
		what, kubeconfig string
		status           int
		says             []string
	}{
		{"an account without rights", stranger, 3, []string{"read the cluster: kyverno.io: ", `cannot list resource "policyexceptions" in API group "kyverno.io" at the cluster scope`, "hint: it requires the permission list on policyexceptions of both groups, in all namespaces"}},
		{"a token that nobody has given out", elsewhere("token", `user: {token: "`, `user: {token: "no`), 3, []string{"read the cluster: kyverno.io: ", "the server has asked for the client to provide credentials", "hint: does kubectl reach it"}},
		{"a cluster that cannot be reached", elsewhere("server", world.Cluster.Server(), "https://127.0.0.1:1"), 3, []string{"read the cluster: kyverno.io: ", "connection refused", "hint: does kubectl reach it"}},
		{"a kubeconfig that is not there", filepath.Join(t.TempDir(), "none"), 2, []string{"read kubeconfig: ", "no such file"}},
	} {
		said, err := world.Polex(t.Context(), "polex-audit", "--config", world.TrustPolicy, "--git", world.Exceptions.Remote, "--kubeconfig", failing.kubeconfig)
		must.Do(t, err)
		for _, part := range failing.says {
			if said.Status != failing.status || said.Out != "" || !strings.Contains(said.Errors, part) {
				t.Errorf("%s: %d and not %d, and it has to say %q\n%s%s", failing.what, said.Status, failing.status, part, said.Out, said.Errors)
			}
		}
		t.Logf("%s: %s", failing.what, said.Errors)
	}
}

// checkedByKyverno: without the guard and with Kyverno's verification, exceptions signed by the
// merge workflow are admitted, and no others.
func checkedByKyverno(t *testing.T) {
	must.Do(t, world.GuardOff(t.Context()))
	t.Cleanup(func() { must.Do(t, world.GuardOn(context.Background())) })
	must.Do(t, world.KyvernoOn(t.Context()))
	t.Cleanup(func() { must.Do(t, world.KyvernoOff(context.Background())) })
	for _, kind := range story.Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			draft := kind.Exception(story.Ask{Name: "by-kyverno"})
			honest := sealed(t, story.Signer{}, draft)
			step(t, "unsigned, it is refused", func(t *testing.T) { refusedByKyverno(t, draft, "message not found") })
			step(t, "altered after signing, it is refused", func(t *testing.T) {
				refusedByKyverno(t, strings.Replace(honest, "team-a", "team-b", 1), "diff found")
			})
			step(t, "signed on another branch, it is refused", func(t *testing.T) {
				refusedByKyverno(t, sealed(t, otherBranch, draft), "does not match")
			})
			step(t, "signed by the merge workflow, it is admitted", func(t *testing.T) { admitted(t, honest) })
			step(t, "and lets the Pod in", func(t *testing.T) { letIn(t, kind.Pod("by-kyverno", story.First)) })
		})
	}
}

// refusedByKyverno checks that Kyverno's policy rejects a document.
func refusedByKyverno(t *testing.T, document, why string) {
	t.Helper()
	said, err := world.Apply(t.Context(), document)
	if err == nil {
		t.Fatalf("it was admitted: %s", said)
	}
	for _, part := range []string{"kyverno.svc", "polex-verify", why} {
		if !strings.Contains(err.Error(), part) {
			t.Fatalf("it does not say %q: %v", part, err)
		}
	}
	t.Log(err)
}
