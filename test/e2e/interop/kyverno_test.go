//go:build e2e

package interop

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/cluster"
)

// byKyverno is Kyverno's own check of a manifest's signature, which only its old
// kind of policy has: exceptions have to be signed by the sandbox's workflow.
const byKyverno = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: signed-exceptions
spec:
  background: false
  webhookConfiguration: {failurePolicy: Fail, timeoutSeconds: 30}
  rules:
  - name: signed
    match:
      any:
      - resources:
          kinds: [kyverno.io/v2/PolicyException, policies.kyverno.io/v1/PolicyException]
          namespaces: [team-a]
    validate:
      failureAction: Enforce
      manifests:
        attestors:
        - entries:
          - keyless:
              issuer: %q
              subject: %q
              rekor: {url: %q}
`

// startKyverno runs a cluster whose Kyverno knows the real Sigstore, and returns
// once it checks signatures.
func startKyverno(t *testing.T) *cluster.Cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "polex-kyverno-") // t.TempDir's is removed before the processes end
	if err != nil {
		t.Fatal(err)
	}
	live, err := cluster.Start(context.Background(), cluster.Options{Binaries: fromRoot("bin/e2e"), Tools: fromRoot("test/e2e/tools/kyverno"), Dir: dir,
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
	within, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := live.CreateNamespace(within, "team-a"); err != nil {
		t.Fatal(err)
	}
	policy := fmt.Appendf(nil, byKyverno, box.IssuerURL, sandbox.Identity{}.Subject(), real.RekorURL)
	if answer, err := live.Do(within, cluster.Request{Method: http.MethodPost, Path: "/apis/kyverno.io/v1/clusterpolicies", Body: policy}); err != nil || !answer.OK() {
		t.Fatal(err, answer)
	}
	for group, target := range targets {
		if err := live.Until(within, "Kyverno's policy", func(ctx context.Context) error {
			answer, err := live.Create(ctx, target, []byte(read(t, draft(t, group, "unsigned"))))
			if err == nil && answer.OK() {
				_, err = live.Do(ctx, cluster.Request{Method: http.MethodDelete, Path: target.Path("unsigned")})
				return errors.Join(errors.New("it does not check yet"), err)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return live
}

// targets are where the drafts go.
var targets = map[string]cluster.Target{
	"kyverno.io":          {Group: "kyverno.io", Version: "v2", Namespace: "team-a"},
	"policies.kyverno.io": {Group: "policies.kyverno.io", Version: "v1", Namespace: "team-a"},
}

// TestKyvernoAdmitsOurs: Kyverno's validate.manifests admits what polex-sign
// wrote and nothing else, and what is live then, polex-verify takes.
func TestKyvernoAdmitsOurs(t *testing.T) {
	live := startKyverno(t)
	for group, target := range targets {
		t.Run(group, func(t *testing.T) {
			good := read(t, sealed(t, theReal(), draft(t, group, "agent")))
			for _, tc := range []struct{ name, text, why string }{
				{"not signed", read(t, draft(t, group, "agent")), "message not found"},
				{"a name widened", strings.Replace(good, "agent-", "a", 1), "diff found"},
				{"another name", strings.Replace(good, "name: agent\n", "name: other\n", 1), "diff found"},
				{"signed on another branch", read(t, byStranger(t, theReal(), draft(t, group, "agent"))), "does not match"},
			} {
				if tc.text == good {
					t.Fatalf("%s: nothing was changed", tc.name)
				}
				answer, err := live.Create(t.Context(), target, []byte(tc.text))
				if err != nil {
					t.Fatal(err)
				}
				if !answer.Refusal() || !strings.Contains(answer.Message(), tc.why) {
					t.Errorf("%s: %d: %s; want a refusal that says %q", tc.name, answer.Code, answer.Message(), tc.why)
				}
			}
			answer, err := live.Create(t.Context(), target, []byte(good))
			if err != nil {
				t.Fatal(err)
			}
			if answer.Code != http.StatusCreated {
				t.Fatalf("%d: %s", answer.Code, answer.Message())
			}
			if answer, err = live.Do(t.Context(), cluster.Request{Method: http.MethodGet, Path: target.Path("agent")}); err != nil || !answer.OK() {
				t.Fatal(err, answer)
			}
			if got := verified(t, "--config", theReal().config, write(t, "live.json", string(answer.Body))); got.reasons() != "[verified]" {
				t.Errorf("what is live: %+v", got)
			}
		})
	}
}
