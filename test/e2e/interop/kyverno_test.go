//go:build e2e

package interop

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
)

// waitLimit is the timeout for expected events.
const waitLimit = time.Minute

// startKyverno runs a cluster with Kyverno configured for the real Sigstore.
func startKyverno(t *testing.T) *cluster.Cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "polex-kyverno-") // t.TempDir's is removed before the processes end
	if err != nil {
		t.Fatal(err)
	}
	live, err := cluster.Start(context.Background(), cluster.Options{Binaries: fixture.FromRoot("bin/e2e"), Tools: fixture.FromRoot("test/e2e/tools/kyverno"), Dir: dir,
		KyvernoEnv: theirEnv(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(live.Logs())
		}
		_ = live.Close()
		_ = os.RemoveAll(dir)
	})
	t.Log("real servers:", live.Names())
	for _, namespace := range []string{"team-a", "team-b"} {
		if err := live.CreateNamespace(t.Context(), namespace); err != nil {
			t.Fatal(err)
		}
	}
	return live
}

// clusterPolicies is the API path of the policies.
const clusterPolicies = "/apis/kyverno.io/v1/clusterpolicies"

// filled returns a file with replacements.
func filled(t *testing.T, path string, pairs ...string) []byte {
	t.Helper()
	text := read(t, path)
	for i := 0; i < len(pairs); i += 2 {
		if strings.Count(text, pairs[i]) != 1 {
			t.Fatalf("%s holds %q %d times", path, pairs[i], strings.Count(text, pairs[i]))
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return []byte(text)
}

// served are the versions that Kyverno defines.
var served = []cluster.Target{
	{Group: "kyverno.io", Version: "v2"}, {Group: "kyverno.io", Version: "v2beta1"},
	{Group: "policies.kyverno.io", Version: "v1"}, {Group: "policies.kyverno.io", Version: "v1beta1"}, {Group: "policies.kyverno.io", Version: "v1alpha1"},
}

// draftIn returns an exception in a version.
func draftIn(t *testing.T, target cluster.Target, name string) string {
	t.Helper()
	return strings.Replace(read(t, draft(t, target.Group, name)), apiVersion(cluster.Target{Group: target.Group, Version: newest[target.Group]}), apiVersion(target), 1)
}

var newest = map[string]string{"kyverno.io": "v2", "policies.kyverno.io": "v1"}

func apiVersion(t cluster.Target) string { return "apiVersion: " + t.Group + "/" + t.Version + "\n" }

// sealedAs signs drafts as a workflow with the real Sigstore and the library, which also signs
// exceptions that the commands reject.
func sealedAs(t *testing.T, id sandbox.Identity, drafts ...string) []string {
	t.Helper()
	root, err := trust.LoadRoot(real.TrustedRootPath)
	if err != nil {
		t.Fatal(err)
	}
	text, err := box.Token(id, "sigstore")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := sign.Keyless(t.Context(), sign.Config{RekorURL: real.RekorURL, Root: root}, real.FulcioURL, text, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var docs []*exception.Document
	for _, text := range drafts {
		doc, err := exception.Parse([]byte(text), "draft")
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, doc)
	}
	docs, err = signer.Seal(t.Context(), docs, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	texts := make([]string, len(docs))
	for i, doc := range docs {
		texts[i] = string(doc.Source())
	}
	return texts
}

// untilEnded waits until a signed exception has expired.
func untilEnded(t *testing.T, sealed string) {
	t.Helper()
	doc, err := exception.Parse([]byte(sealed), "sealed")
	if err != nil {
		t.Fatal(err)
	}
	life, err := lifetime.Of(doc, lifetime.Terms{})
	if err != nil || life.ExpiresAt.IsZero() {
		t.Fatalf("%v: it has no end", err)
	}
	timer := time.NewTimer(time.Until(life.ExpiresAt))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}

// attempt is a request of a client with its expected result.
type attempt struct {
	name string
	do   func(context.Context) (*cluster.Answer, error)
	why  string // of the rejection; "" for none
}

// creates is an attempt to create an exception. A rejected one must differ from the valid one.
func creates(live *cluster.Cluster, name string, target cluster.Target, text, why string) attempt {
	return attempt{name, func(ctx context.Context) (*cluster.Answer, error) { return live.Create(ctx, target, []byte(text)) }, why}
}

func (a attempt) try(t *testing.T) {
	t.Helper()
	answer, err := a.do(t.Context())
	switch {
	case err != nil:
		t.Fatalf("%s: %v", a.name, err)
	case a.why == "" && !answer.OK():
		t.Errorf("%s: %d: %s", a.name, answer.Code, answer.Message())
	case a.why != "" && (answer.OK() || !strings.Contains(answer.Message(), a.why)):
		t.Errorf("%s: %d: %s; want a refusal that says %q", a.name, answer.Code, answer.Message(), a.why)
	}
}

// until repeats an attempt until it has the expected result.
func (a attempt) until(t *testing.T, live *cluster.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	var last error
	if err := live.Until(ctx, a.name, func(ctx context.Context) error {
		answer, err := a.do(ctx)
		if err == nil && (answer.OK() != (a.why == "") || !strings.Contains(answer.Message(), a.why)) {
			err = errorOf(answer)
			last = err
		}
		return err
	}); err != nil {
		t.Fatalf("%v; before: %v", err, last)
	}
}

func errorOf(answer *cluster.Answer) error { return &answered{answer} }

type answered struct{ *cluster.Answer }

func (a *answered) Error() string { return http.StatusText(a.Code) + ": " + a.Message() }

// post creates an object for the test.
func post(t *testing.T, live *cluster.Cluster, path string, body []byte) {
	t.Helper()
	answer, err := live.Do(t.Context(), cluster.Request{Method: http.MethodPost, Path: path, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	if !answer.OK() {
		t.Fatal(errorOf(answer))
	}
}

func remove(t *testing.T, live *cluster.Cluster, path string) {
	t.Helper()
	answer, err := live.Do(t.Context(), cluster.Request{Method: http.MethodDelete, Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if !answer.OK() {
		t.Fatal(errorOf(answer))
	}
}
