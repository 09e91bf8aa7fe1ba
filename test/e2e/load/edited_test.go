//go:build e2e

package load

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/e2e/cluster"
)

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
		o := seal(t, sandbox.Identity{}, draft{name: name}.in(signed))[0]
		if answer, err := live.Create(t.Context(), signed, asJSON(t, o)); err != nil || !answer.OK() {
			t.Fatalf("%v: %v", err, answer.Message())
		}
	}
	g.found(t, len(versions))
	unregister() // without a review, as for a write to etcd
	for name, target := range versions {
		answer, err := live.Do(t.Context(), cluster.Request{
			Method: http.MethodPatch, Path: target.Path(name), ContentType: "application/merge-patch+json", Body: []byte(`{"spec": {"background": true}}`),
		})
		if err != nil || !answer.OK() {
			t.Fatalf("%v: %v", err, answer.Message())
		}
		// It is no longer verified, and the rest is unchanged.
		delete(versions, name)
		until(t, "the edit to be found", func(context.Context) error {
			altered, verified := g.sum(t, `polex_guard_exceptions{`, `reason="altered"`), g.sum(t, `polex_guard_exceptions{`, `reason="verified"`)
			if altered+verified != 2 || int(verified) != len(versions) {
				return fmt.Errorf("%v are altered and %v verified", altered, verified)
			}
			return nil
		})
	}
	if len(versions) > 0 {
		t.Fatal("not everything was edited")
	}
}
