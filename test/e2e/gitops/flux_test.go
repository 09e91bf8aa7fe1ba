//go:build e2e

package gitops

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/flux"
	"github.com/polex-dev/polex/test/must"
)

// TestFluxBeforeTheGuard: Flux applies signed exceptions. The guard's rejection stops a commit with
// any other content as a whole, with the reason, until it is repaired.
func TestFluxBeforeTheGuard(t *testing.T) {
	f := startFlux(t, false)
	guarded(t)
	sealed := seal(t, draft("honest"), newer("native"), draft("later"))
	r := newRepository(t, "flux", nil)
	apply(t, example(t, "flux/exceptions.yaml", repository{})) // the source controller is not running
	t.Cleanup(func() { withdraw(t, f) })
	publish := func(files map[string]string) string {
		t.Helper()
		commit := r.commit(t, files)
		archive := must.Get(remote.Archive(t.Context(), r.name, commit, "signed"))(t)
		must.Do(t, f.Publish(t.Context(), where, "exceptions", commit, archive))
		return commit
	}
	ends := func(commit, status string, wanted ...string) {
		t.Helper()
		applied(t, f, commit, status, wanted...)
	}

	ends(publish(map[string]string{"signed/README.md": "signed\n", "signed/honest.yaml": sealed[0], "signed/team/native.yaml": sealed[1]}), "True")
	holds(t, "honest", "native")
	for name, file := range refused(t) {
		t.Run(name, func(t *testing.T) {
			ends(publish(map[string]string{"signed/later.yaml": sealed[2], "signed/" + name + ".yaml": file.text}), "False", where+"/"+name, "guard.polex.dev", "["+file.reason+"]")
			holds(t, "honest", "native")
			ends(publish(map[string]string{"signed/later.yaml": "", "signed/" + name + ".yaml": ""}), "True")
		})
	}
	t.Run("kustomization", func(t *testing.T) {
		ends(publish(map[string]string{"signed/kustomization.yaml": kustomized}), "False", "guard.polex.dev", "[altered]")
		ends(publish(map[string]string{"signed/kustomization.yaml": ""}), "True")
	})
	t.Run("something else", func(t *testing.T) {
		ends(publish(map[string]string{"signed/other.yaml": other}), "False", "configmaps", "forbidden", "system:serviceaccount:"+where+":exceptions-sync")
		absent(t, "/api/v1/namespaces/"+where+"/configmaps/other")
		ends(publish(map[string]string{"signed/other.yaml": ""}), "True")
	})
	ends(publish(map[string]string{"signed/honest.yaml": ""}), "True")
	holds(t, "native")
}

// applied waits until Flux has tried a commit, or any if it is "", with this status and message.
func applied(t *testing.T, f *flux.Flux, commit, status string, wanted ...string) {
	t.Helper()
	until(t, "Flux to be done with "+commit, func(ctx context.Context) error {
		k, err := f.Kustomization(ctx, where, "exceptions")
		if err != nil {
			return err
		}
		ready, message := k.Condition("Ready")
		if !strings.Contains(k.LastAttemptedRevision, commit) || ready != status || !containsAll(message, wanted) {
			return fmt.Errorf("it is %s at %s: %s", ready, k.LastAttemptedRevision, message)
		}
		return nil
	})
}

// startFlux runs kustomize-controller until the test ends, and source-controller if it has to fetch.
func startFlux(t *testing.T, fetch bool) *flux.Flux {
	t.Helper()
	dir := t.TempDir()
	f := must.Get(flux.Start(context.Background(), flux.Options{Binaries: fixture.FromRoot(binaries),
		Tools: fixture.FromRoot(tools), Dir: dir, Cluster: live, Fetch: fetch}))(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(f.Logs())
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// withdraw deletes Flux's objects, and so their applied objects.
func withdraw(t *testing.T, f *flux.Flux) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	for _, path := range []string{
		"/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/" + where + "/kustomizations/exceptions",
		"/apis/source.toolkit.fluxcd.io/v1/namespaces/" + where + "/gitrepositories/exceptions",
		"/apis/source.toolkit.fluxcd.io/v1/namespaces/" + where + "/ocirepositories/exceptions",
		exceptions.Path(""), native.Path(""),
	} {
		if _, err := live.Delete(ctx, path); err != nil {
			t.Error(err)
		}
	}
	if err := f.Until(ctx, "the exceptions to be gone", func(ctx context.Context) error { return storedAre(ctx) }); err != nil {
		t.Error(err)
	}
}
