//go:build e2e

package workflow

import (
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/github"
)

// sigstore starts a sandbox for a workflow of that repository, by its file.
func sigstore(t *testing.T, workflow string) *sandbox.Sandbox {
	t.Helper()
	s, err := sandbox.Start(t.Context(), sandbox.Options{Dir: t.TempDir(), RekorVersions: []int{1},
		Identity: sandbox.Identity{Repository: github.Owner + "/" + github.Name, WorkflowFile: workflow}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// template returns the files of examples/github for that Sigstore.
func template(t *testing.T, s *sandbox.Sandbox) map[string]string {
	t.Helper()
	files, err := github.Template(fixture.FromRoot("."), github.Sigstore{IssuerURL: s.IssuerURL, FulcioURL: s.FulcioURL, RekorURL: s.RekorURL, TrustedRootPath: s.TrustedRootPath})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
