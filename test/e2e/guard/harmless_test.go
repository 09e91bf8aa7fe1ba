//go:build e2e

package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// TestHarmlessUpdates: clients that write an exception all the time in ways that need no signature
// do not keep it beyond its end, with the webhook and without it. It prints how long that takes.
func TestHarmlessUpdates(t *testing.T) {
	const clients = 48
	withStatus(t)
	i := settings{}.run(t)
	for _, registered := range []bool{false, true} {
		if registered {
			i.register(t)
		}
		for name, update := range map[string]func(n, round int) (path, contentType, body string){
			"fields": func(n, round int) (string, string, string) {
				return fmt.Sprintf("?force=true&fieldManager=m%d-%d", n, round%50), "application/apply-patch+yaml", `{"spec":{"background":true}}`
			},
			"status": func(n, round int) (string, string, string) {
				return "/status", "application/merge-patch+json", fmt.Sprintf(`{"status":{"n":"%d-%d"}}`, n, round)
			},
		} {
			t.Run(fmt.Sprintf("%s-%t", name, registered), func(t *testing.T) {
				target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: namespace(t)}
				d := draft{name: "kept", namespace: target.Namespace, lives: 15 * time.Second}
				sealed := seal(t, d.legacy("v2"))[0]
				create(t, target, sealed).want(t, http.StatusCreated)
				var stored struct{ Spec map[string]any }
				if err := json.Unmarshal(do(t, cluster.Request{Method: http.MethodGet, Path: target.Path("kept")}).Body, &stored); err != nil {
					t.Fatal(err)
				}
				whole, err := json.Marshal(map[string]any{"apiVersion": "kyverno.io/v2", "kind": "PolicyException",
					"metadata": map[string]any{"name": "kept", "namespace": target.Namespace}, "spec": stored.Spec})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				var updates, late atomic.Int64
				var running sync.WaitGroup
				defer running.Wait()
				defer cancel()
				end := endOf(t, sealed)
				for n := range clients {
					running.Go(func() {
						for round := 0; ctx.Err() == nil; round++ {
							path, contentType, body := update(n, round)
							if strings.HasPrefix(path, "?") {
								body = string(whole)
							}
							request := cluster.Request{Method: http.MethodPatch, Path: target.Path("kept") + path, ContentType: contentType, Body: []byte(body)}
							answer, err := live.Do(ctx, request)
							if err != nil || !answer.OK() {
								continue
							}
							if updates.Add(1); time.Now().After(end) {
								late.Add(1)
							}
							if answer.Code == http.StatusCreated { // applied again after its end, without the webhook
								return
							}
						}
					})
				}
				i.until(t, "its deletion by the guard", func(ctx context.Context) error {
					return contains(ctx, "/apis/events.k8s.io/v1/namespaces/"+target.Namespace+"/events", `"reason":"Removed"`)
				})
				took := time.Since(end)
				cancel()
				running.Wait()
				t.Logf("deleted %s after its end, beside %d updates, %d of them after its end", took.Round(time.Millisecond), updates.Load(), late.Load())
				if updates.Load() == 0 {
					t.Error("no update succeeded")
				}
			})
		}
	}
}

const legacyDefinition = definitions + "policyexceptions.kyverno.io"

// versionsOf returns the versions of a definition, and restores them when the test ends.
func versionsOf(t *testing.T, path string) []any {
	t.Helper()
	var definition struct{ Spec struct{ Versions []any } }
	body := do(t, cluster.Request{Method: http.MethodGet, Path: path}).Body
	var before struct {
		Spec struct{ Versions json.RawMessage }
	}
	if err := errors.Join(json.Unmarshal(body, &definition), json.Unmarshal(body, &before)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = live.Do(context.Background(), cluster.Request{Method: http.MethodPatch, Path: path, ContentType: "application/merge-patch+json",
			Body: fmt.Appendf(nil, `{"spec":{"versions":%s}}`, before.Spec.Versions)})
	})
	return definition.Spec.Versions
}

// define changes the versions of a definition.
func define(t *testing.T, path string, versions []any) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"spec": map[string]any{"versions": versions}})
	if err != nil {
		t.Fatal(err)
	}
	do(t, cluster.Request{Method: http.MethodPatch, Path: path, ContentType: "application/merge-patch+json", Body: body}).want(t, http.StatusOK)
}

// withStatus gives exceptions a status of any content, as Kyverno may do in a later release.
func withStatus(t *testing.T) {
	t.Helper()
	versions := versionsOf(t, legacyDefinition)
	for _, item := range versions {
		version := item.(map[string]any)
		version["subresources"] = map[string]any{"status": map[string]any{}}
		properties := version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)["properties"].(map[string]any)
		properties["status"] = map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	}
	define(t, legacyDefinition, versions)
}

// TestDefinitionForAMoment: a definition that lacks a field for a moment is counted and told in an
// Event on the definition. An exception that was widened by it is reported, although its resource
// version has not changed.
func TestDefinitionForAMoment(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	const count = `polex_guard_definition_changes_total{group="kyverno.io"} `
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: namespace(t)}
	create(t, target, seal(t, draft{name: "wide", namespace: target.Namespace}.legacy("v2"))[0]).want(t, http.StatusCreated)
	i.until(t, "it to be verified", func(ctx context.Context) error {
		return reported(ctx, target.Namespace, []string{"wide verified pass"})
	})
	whole := versionsOf(t, legacyDefinition)
	narrowed := versionsOf(t, legacyDefinition)
	for _, item := range narrowed {
		schema := item.(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
		delete(schema["properties"].(map[string]any)["spec"].(map[string]any)["properties"].(map[string]any), "match")
		spec := schema["properties"].(map[string]any)["spec"].(map[string]any)
		spec["required"] = []any{"exceptions"}
	}
	define(t, legacyDefinition, narrowed)
	define(t, legacyDefinition, whole)
	i.until(t, "both changes to be counted", func(ctx context.Context) error { return i.measures(ctx, count+"2") })
	i.until(t, "an Event", func(ctx context.Context) error {
		return contains(ctx, "/apis/events.k8s.io/v1/namespaces/default/events", `"reason":"DefinitionChanged"`)
	})
	define(t, legacyDefinition, narrowed)
	i.until(t, "the widened one to be reported", func(ctx context.Context) error {
		return reported(ctx, target.Namespace, []string{"wide altered fail"})
	})
	define(t, legacyDefinition, whole)
	i.until(t, "it to be verified again", func(ctx context.Context) error {
		return reported(ctx, target.Namespace, []string{"wide verified pass"})
	})
}

// TestUnservedVersion: while the API server does not serve a version that Kyverno reads, Kyverno
// keeps the exceptions that it has read. The guard and its check report that, for both groups.
func TestUnservedVersion(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	for _, served := range []cluster.Target{{Group: "kyverno.io", Version: "v2beta1"}, {Group: "policies.kyverno.io", Version: "v1"}} {
		t.Run(strings.ReplaceAll(served.Group, ".", "-"), func(t *testing.T) {
			served.Namespace = namespace(t)
			create(t, served, seal(t, draft{name: "kept", namespace: served.Namespace}.in(served))[0]).want(t, http.StatusCreated)
			i.until(t, "it to be verified", func(ctx context.Context) error {
				return reported(ctx, served.Namespace, []string{"kept verified pass"})
			})
			path := definitions + "policyexceptions." + served.Group
			whole, without := versionsOf(t, path), versionsOf(t, path)
			for _, item := range without {
				version := item.(map[string]any)
				version["served"] = version["name"] == served.Version
			}
			define(t, path, without)
			i.until(t, "it to be reported", func(ctx context.Context) error {
				return reported(ctx, served.Namespace, []string{"kept conversion-webhook fail"})
			})
			define(t, path, whole)
			i.until(t, "it to be verified again", func(ctx context.Context) error {
				return reported(ctx, served.Namespace, []string{"kept verified pass"})
			})
		})
	}
}
