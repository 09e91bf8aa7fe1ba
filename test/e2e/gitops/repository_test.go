//go:build e2e

package gitops

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/test/e2e/argocd"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/gitserver"
	"github.com/polex-dev/polex/test/must"
)

// repository is a repository with exceptions on the Git server.
type repository struct{ name, url string }

// newRepository makes one with these files in its first commit.
func newRepository(t *testing.T, name string, files map[string]string) repository {
	t.Helper()
	must.Do(t, remote.Create(t.Context(), name))
	r := repository{name: name, url: remote.URL(name)}
	r.commit(t, files)
	return r
}

// commit pushes one commit and returns it. It deletes a file with the text "".
func (r repository) commit(t *testing.T, files map[string]string) string {
	t.Helper()
	changes := map[string][]byte{}
	for path, text := range files {
		if text == "" {
			changes[path] = nil
			continue
		}
		changes[path] = []byte(text)
	}
	return must.Get(remote.Commit(t.Context(), r.name, "exceptions", changes))(t)
}

// draft returns an exception of the older group with a lifetime of an hour.
func draft(name string) string { return lasting(name, "1h") }

// lasting returns one with the given lifetime.
func lasting(name, life string) string { return fixture.Draft{Name: name, Lives: life}.In(exceptions) }

// newer returns one of the newer group.
func newer(name string) string { return fixture.Draft{Name: name}.In(native) }

// seal signs drafts as the trusted merge workflow.
func seal(t *testing.T, drafts ...string) []string {
	t.Helper()
	return sealing{}.seal(t, drafts...)
}

// sealing has the signer and its clock.
type sealing struct {
	by     sandbox.Identity // "" for the merge workflow
	behind time.Duration    // the delay of the signer's clock: less than the ten minutes that a verifier allows
}

func (s sealing) seal(t *testing.T, drafts ...string) []string {
	t.Helper()
	return sandboxtest.Files(t, box, s.by, time.Now().Add(-s.behind), drafts...)
}

// refused lists files that a cluster with the merge workflow as trusted signer must reject, with the reasons.
func refused(t *testing.T) map[string]struct{ text, reason string } {
	t.Helper()
	wide := seal(t, draft("altered"))[0]
	return map[string]struct{ text, reason string }{
		"unsigned":  {draft("unsigned"), "unsigned"},
		"altered":   {strings.Replace(wide, "require-probes", "require-limits", 1), "altered"},
		"expired":   {sealing{behind: 9 * time.Minute}.seal(t, lasting("expired", "5m"))[0], "expired"},
		"elsewhere": {sealing{by: sandbox.Identity{Repository: "acme/other"}}.seal(t, draft("elsewhere"))[0], "wrong-identity"},
	}
}

// Folders of this repository, from the root.
const (
	binaries   = "bin/e2e"
	argocdTool = "test/e2e/tools/argocd"
	tools      = "test/e2e/tools"
)

// where is the namespace of exceptions.
const where = "platform-exceptions"

// Shared by all tests of this process.
var (
	live   *cluster.Cluster
	box    *sandbox.Sandbox
	remote *gitserver.Server
	argo   *argocd.ArgoCD
	folder string // of the run; it holds polex's binaries
)

// waitLimit is the timeout for expected events.
const waitLimit = 2 * time.Minute

func TestMain(m *testing.M) {
	fixture.Main(m, func(ctx context.Context, f *fixture.Fixture) error {
		if err := errors.Join(f.Build(ctx, "polex-guard", "polex-sign", "polex-verify", "polex-prune"), f.StartSigstore(ctx), f.StartCluster(ctx, cluster.Options{WithoutKyverno: true})); err != nil {
			return err
		}
		live, box, folder = f.Cluster, f.Sigstore, f.Folder
		if err := errors.Join(live.StartControllers(ctx, "job-controller", "garbage-collector-controller"), live.CreateNamespace(ctx, where)); err != nil {
			return err
		}
		for _, name := range []string{"remote", "argocd"} {
			if _, err := f.Dir(name); err != nil {
				return err
			}
		}
		var err error
		if remote, err = gitserver.Start(ctx, filepath.Join(folder, "remote")); err != nil {
			return err
		}
		f.Keep(remote)
		argo, err = argocd.Start(ctx, argocd.Options{
			Binaries: fixture.FromRoot(binaries), Tools: fixture.FromRoot(argocdTool), Dir: filepath.Join(folder, "argocd"), Cluster: live,
		})
		if err == nil {
			f.Keep(argo)
		}
		return err
	})
}

// exceptions are those of the older group.
var exceptions = cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: where}

// native are those of the newer group.
var native = cluster.Target{Group: "policies.kyverno.io", Version: "v1", Namespace: where}
