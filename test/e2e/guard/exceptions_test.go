//go:build e2e

package guard

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/must"
)

// draft describes an exception for a test.
type draft struct {
	name, namespace string
	lives           time.Duration // 0 is an hour
	annotations     string        // more of them, as YAML flow: ", a: b"
	policy          string        // "" is require-probes
	kind            string        // the exempted kind; "" is Pod
}

// in returns its YAML for a group and version.
func (d draft) in(t cluster.Target) string {
	t.Namespace = d.namespace
	text := fixture.Draft{Name: d.name, Annotations: d.annotations, Policy: d.policy, Kind: d.kind}
	if d.lives != 0 {
		text.Lives = short(d.lives)
	}
	return text.In(t)
}

// legacy returns its YAML for kyverno.io.
func (d draft) legacy(version string) string {
	return d.in(cluster.Target{Group: exception.KyvernoGroup, Version: version})
}

// policies returns its YAML for policies.kyverno.io.
func (d draft) policies(version string) string {
	return d.in(cluster.Target{Group: exception.PoliciesGroup, Version: version})
}

func short(d time.Duration) string {
	text := d.String()
	for _, none := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, none) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// seal signs drafts as the merge workflow that the guard trusts.
func seal(t *testing.T, drafts ...string) []string {
	t.Helper()
	return sealAs(t, sandbox.Identity{}, drafts...)
}

// sealAs signs drafts as a given workflow.
func sealAs(t *testing.T, id sandbox.Identity, drafts ...string) []string {
	t.Helper()
	return sandboxtest.Files(t, box, id, time.Now(), drafts...)
}

// response is the API server's answer.
type response struct{ *cluster.Answer }

// do sends a request; without an answer the test fails.
func do(t *testing.T, r cluster.Request) response {
	t.Helper()
	return response{must.Get(live.Do(t.Context(), r))(t)}
}

// read, remove, post and merge send requests of these kinds.
func read(t *testing.T, path string) response {
	t.Helper()
	return response{must.Get(live.Get(t.Context(), path))(t)}
}

func remove(t *testing.T, path string) response {
	t.Helper()
	return response{must.Get(live.Delete(t.Context(), path))(t)}
}

func post(t *testing.T, path string, body []byte) response {
	t.Helper()
	return response{must.Get(live.Post(t.Context(), path, body))(t)}
}

func merge(t *testing.T, path, patch string) response {
	t.Helper()
	return response{must.Get(live.Merge(t.Context(), path, []byte(patch)))(t)}
}

func (r response) want(t *testing.T, code int) {
	t.Helper()
	if r.Code != code {
		t.Fatalf("%d, want %d: %s", r.Code, code, r.Message())
	}
}

// refusedFor expects a rejection by the guard, with a reason.
func (r response) refusedFor(t *testing.T, reason string) {
	t.Helper()
	must.Do(t, refused(r.Answer, reason))
}

// refused returns an error unless the answer is a rejection by the guard with the reason.
func refused(answer *cluster.Answer, reason string) error {
	if answer.OK() || !strings.Contains(answer.Message(), `admission webhook "guard.polex.dev" denied the request: [`+reason+"] ") {
		return fmt.Errorf("%d, want a refusal for %q: %s", answer.Code, reason, answer.Message())
	}
	return nil
}

// refuses checks that an answer is a rejection by the guard with the reason.
func refuses(reason string) func(*cluster.Answer, error) error {
	return func(answer *cluster.Answer, err error) error {
		if err == nil {
			err = refused(answer, reason)
		}
		return err
	}
}

// deleteAfter deletes objects at the end of the test, if they are there.
func deleteAfter(t *testing.T, paths ...string) {
	t.Cleanup(func() {
		for _, path := range paths {
			_, _ = live.Delete(context.Background(), path)
		}
	})
}

// create creates an exception.
func create(t *testing.T, target cluster.Target, text string) response {
	t.Helper()
	return response{must.Get(live.Create(t.Context(), target, []byte(text)))(t)}
}

// namespace makes a namespace for a test, and returns its name.
func namespace(t *testing.T) string {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	must.Do(t, live.CreateNamespace(t.Context(), name))
	t.Cleanup(func() {
		for _, group := range []cluster.Target{served[0], served[2]} {
			group.Namespace = name
			_, _ = live.Delete(context.Background(), group.Path(""))
		}
	})
	return name
}

// endOf returns the expiry of a signed exception.
func endOf(t *testing.T, sealed string) time.Time {
	t.Helper()
	doc := must.Get(exception.Parse([]byte(sealed), "sealed"))(t)
	life, err := lifetime.Of(doc, lifetime.Terms{})
	if err != nil || life.ExpiresAt.IsZero() {
		t.Fatalf("%v: it has no end", err)
	}
	return life.ExpiresAt
}

// widened returns a signed exception with another policy than the signed one.
func widened(t *testing.T, sealed string) string {
	t.Helper()
	wide := strings.Replace(sealed, "require-probes", "require-limits", 1)
	if wide == sealed {
		t.Fatal("there is nothing to widen")
	}
	return wide
}
