//go:build e2e

package gitops

import (
	"slices"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/argocd"
)

// TestPreSync: the hook verifies the synced commit with the cluster's trust policy. If it rejects
// the commit, nothing of it is applied, even without a guard.
func TestPreSync(t *testing.T) {
	const namespace = "exceptions-presync"
	sealed := seal(t, draft("honest"), draft("later"))
	r := newRepository(t, "presync", nil)
	files := map[string]string{
		"signed/honest.yaml":     sealed[0],
		"presync/verify.jsonnet": example(t, "argocd/presync/verify.jsonnet", r),
		// The hook ignores the trust policy in the repository.
		".polex.yaml": "apiVersion: polex.dev/v1alpha1\nkind: Config\ntrust: {authorities: [{name: mine, issuer: " + box.IssuerURL + ", subject: " + sandbox.Identity{Repository: "acme/other"}.Subject() + "}]}\n",
	}
	commit := r.commit(t, files)
	apply(t, example(t, "argocd/presync/namespace.yaml", repository{}))
	apply(t, configMap(t, namespace, "polex-trust", map[string]string{"trust.yaml": trustPolicy(t), "trusted_root.json": trustedRoot(t)}))
	deployed(t, "argocd/presync/application.yaml", r)
	node := kubelet{namespace: namespace}

	args, said := node.play(t)
	if !slices.Contains(args, "--ref="+commit) {
		t.Fatalf("it is not the commit %s that was verified: %q", commit, args)
	}
	says(t, said, "signed/honest.yaml", "[verified]")
	synced(t, commit)
	holds(t, "honest")

	r.commit(t, map[string]string{"signed/later.yaml": sealed[1], "signed/unsigned.yaml": draft("unsigned"),
		"signed/elsewhere.yaml": sealing{by: sandbox.Identity{Repository: "acme/other"}}.seal(t, draft("elsewhere"))[0]})
	refresh(t)
	_, said = node.play(t)
	says(t, said, "[unsigned]", "[wrong-identity]")
	found := watched(t, "the hook to fail", func(a *argocd.Application) bool { return failed(a) && a.OperationState.SyncResult.Revision != commit })
	says(t, found.Said(), "Job "+namespace+"/polex-verify", "PreSyncFailed")
	holds(t, "honest")
}
