//go:build e2e

package load

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// targets returns both groups in a namespace.
func targets(namespace string) []cluster.Target {
	return []cluster.Target{
		{Group: exception.KyvernoGroup, Version: "v2", Namespace: namespace},
		{Group: exception.PoliciesGroup, Version: "v1", Namespace: namespace},
	}
}

type object = map[string]any

// seal signs drafts as a workflow, all with one certificate.
func seal(t testing.TB, id sandbox.Identity, drafts ...string) []object {
	t.Helper()
	docs := must.Get(sandboxtest.Sign(t.Context(), box, id, time.Now(), drafts...))(t)
	sealed := make([]object, len(docs))
	for i, doc := range docs {
		sealed[i] = doc.Object()
	}
	return sealed
}

func asJSON(t testing.TB, o object) []byte {
	t.Helper()
	return must.Get(json.Marshal(o))(t)
}

func metadata(o object) object { return o["metadata"].(object) }

func annotations(o object) object { return metadata(o)["annotations"].(object) }

// TestEdited: the guard does not verify an unchanged exception again after its review. It verifies
// an edit without a review, in the signed version and in another one.
func TestEdited(t *testing.T) {
	g := startGuard(t)
	ns := namespace(t, live, "edited")
	signed := targets(ns)[0]
	other := cluster.Target{Group: exception.KyvernoGroup, Version: "v2beta1", Namespace: ns}
	versions := map[string]cluster.Target{"a": signed, "b": other}
	unregister := g.register(t, ns)
	for name := range versions {
		o := seal(t, sandbox.Identity{}, fixture.Draft{Name: name}.In(signed))[0]
		must.Do(t, cluster.OK(live.Create(t.Context(), signed, asJSON(t, o))))
	}
	g.found(t, len(versions))
	unregister() // without a review, as for a write to etcd
	for name, target := range versions {
		must.Do(t, cluster.OK(live.Merge(t.Context(), target.Path(name), []byte(`{"spec": {"background": true}}`))))
		// It is no longer verified, and the rest is unchanged.
		delete(versions, name)
		until(t, "the edit to be found", func(context.Context) error {
			altered, verified := g.sum(t, `polex_guard_exceptions{`, `reason="altered"`), g.sum(t, `polex_guard_exceptions{`, `reason="verified"`)
			return expect.Unless(altered+verified == 2 && int(verified) == len(versions),
				"%v are altered and %v verified", altered, verified)
		})
	}
	must.That(t, len(versions) == 0, "not everything was edited")
}
