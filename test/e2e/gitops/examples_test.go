//go:build e2e

package gitops

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/argocd"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
)

// placeholder is the repository in every file of the examples. Their READMEs tell the reader to
// replace it.
const placeholder = "https://github.com/acme/exceptions"

// example reads a file of the examples and replaces the repository's address, as its README says.
func example(t *testing.T, path string, r repository) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(fixture.FromRoot("examples"), filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
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
	if err := live.ApplyAll(t.Context(), []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// deployed follows the first steps of the README of examples/argocd, and applies an Application
// from a file. At the end of the test it deletes both, with all exceptions.
func deployed(t *testing.T, path string, r repository) {
	t.Helper()
	apply(t, example(t, "argocd/rbac.yaml", repository{}))
	if err := argo.Configure(t.Context(), map[string]string{"application.sync.impersonation.enabled": "true"}); err != nil {
		t.Fatal(err)
	}
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
		answer, err := live.Do(ctx, cluster.Request{Method: http.MethodGet, Path: "/apis/argoproj.io/v1alpha1/namespaces/" + argocd.Namespace + "/applications/exceptions"})
		if err == nil && answer.Code != http.StatusNotFound {
			err = errStillThere
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	for _, target := range []cluster.Target{exceptions, native} {
		if _, err := live.Do(ctx, cluster.Request{Method: http.MethodDelete, Path: target.Path("")}); err != nil {
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
