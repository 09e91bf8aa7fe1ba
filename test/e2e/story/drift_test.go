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
)

// drifts: while the guard is off, an exception that is not in Git is created in the cluster, and a
// signed one is changed. The audit report has these two findings only.
func drifts(t *testing.T) {
	kubeconfig := auditor(t)
	drift := []string{"--kubeconfig", kubeconfig, "--fail-on", "drift"}
	calm := audited(t, 0, drift...).Findings
	byHand, signed := story.Kinds[0], story.Kinds[1]
	stray := byHand.Exception(story.Ask{Name: "stray", Namespace: story.Team})

	must(t, world.GuardOff(t.Context()))
	t.Cleanup(func() { must(t, world.GuardOn(context.Background())) })
	admitted(t, stray)
	// Argo CD does not remove a label that Git does not have.
	label := func(change string) {
		_, err := world.Kubectl(t.Context(), "label", signed.Resource, "-n", story.Namespace, "web", change)
		must(t, err)
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
	_, err := world.Delete(t.Context(), stray)
	must(t, err)
	if diff := cmp.Diff(calm, audited(t, 0, drift...).Findings); diff != "" {
		t.Errorf("findings, when all is as it was (-want +got):\n%s", diff)
	}

	stranger, err := world.Account(t.Context(), "stranger")
	must(t, err)
	text, err := os.ReadFile(kubeconfig)
	must(t, err)
	elsewhere := func(name, from, to string) string {
		path := filepath.Join(t.TempDir(), name)
		must(t, os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o600))
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
		must(t, err)
		for _, part := range failing.says {
			if said.Status != failing.status || said.Out != "" || !strings.Contains(said.Errors, part) {
				t.Errorf("%s: %d and not %d, and it has to say %q\n%s%s", failing.what, said.Status, failing.status, part, said.Out, said.Errors)
			}
		}
		t.Logf("%s: %s", failing.what, said.Errors)
	}
}
