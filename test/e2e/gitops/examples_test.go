//go:build e2e

package gitops

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/argocd"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/must"
)

// placeholder is the repository in every file of the examples. Their READMEs tell the reader to
// replace it.
const placeholder = "https://github.com/acme/exceptions"

// example reads a file of the examples and replaces the repository's address, as its README says.
func example(t *testing.T, path string, r repository) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(fixture.FromRoot("examples"), filepath.FromSlash(path))))(t)
	if r.url == "" {
		return string(text)
	}
	replaced := strings.ReplaceAll(string(text), placeholder, r.url)
	if replaced == string(text) {
		t.Fatalf("%s names no repository %s", path, placeholder)
	}
	return replaced
}

// apply applies manifests.
func apply(t *testing.T, text string) {
	t.Helper()
	must.Do(t, live.ApplyAll(t.Context(), []byte(text)))
}

// deployed follows the first steps of the README of examples/argocd, and applies an Application
// from a file. At the end of the test it deletes both, with all exceptions.
func deployed(t *testing.T, path string, r repository) {
	t.Helper()
	apply(t, example(t, "argocd/rbac.yaml", repository{}))
	must.Do(t, argo.Configure(t.Context(), map[string]string{"application.sync.impersonation.enabled": "true"}))
	apply(t, example(t, path, r))
	t.Cleanup(func() { cleared(t) })
}

// cleared deletes the Application and all exceptions, and waits until they are gone.
func cleared(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	if err := argo.Delete(ctx, "exceptions"); err != nil {
		t.Error(err)
	}
	if err := argo.Until(ctx, "the Application to be gone", func(ctx context.Context) error {
		path := "/apis/argoproj.io/v1alpha1/namespaces/" + argocd.Namespace + "/applications/exceptions"
		answer, err := live.Get(ctx, path)
		if err == nil && answer.Code != http.StatusNotFound {
			err = errStillThere
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	for _, target := range []cluster.Target{exceptions, native} {
		if _, err := live.Delete(ctx, target.Path("")); err != nil {
			t.Error(err)
		}
	}
}

// TestImagesHaveToBeNamed: the images in the examples have a placeholder as digest, so no cluster
// runs them unchanged.
func TestImagesHaveToBeNamed(t *testing.T) {
	found := 0
	for _, path := range []string{"argocd/plugin/argocd-repo-server.yaml", "argocd/presync/verify.jsonnet"} {
		for line := range strings.Lines(example(t, path, repository{})) {
			if name, image, _ := strings.Cut(strings.TrimSpace(line), ": "); name == "image" {
				found++
				if !strings.HasSuffix(strings.Trim(image, "',"), "@sha256:<digest>") {
					t.Errorf("%s names an image otherwise: %s", path, image)
				}
			}
		}
	}
	if found != 3 {
		t.Errorf("there are %d images", found)
	}
}

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
