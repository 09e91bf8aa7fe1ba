//go:build e2e

package interop

import (
	"context"
	"fmt"
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
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestValidateManifests: Kyverno's validate.manifests admits exceptions from polex-sign in every version, and rejects
// others. It also admits the ones that docs/explanation/interop.md lists as not checked.
func TestValidateManifests(t *testing.T) {
	live := startKyverno(t)
	for _, policy := range [][]byte{
		filled(t, "testdata/validatemanifests.yaml",
			"https://token.actions.githubusercontent.com", box.IssuerURL,
			"https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/main", sandbox.Identity{}.Subject(),
			"https://rekor.sigstore.dev", real.RekorURL),
		filled(t, fixture.FromRoot("policies/shape/clusterpolicy.yaml")),
	} {
		must.Do(t, cluster.OK(live.Post(t.Context(), clusterPolicies, policy)))
	}
	for _, target := range served {
		target.Namespace = "team-a"
		self := strings.Replace(draftIn(t, target, "self"), "disallow-host-path", "polex-verify", 1)
		all := sealedAs(t, sandbox.Identity{}, self, strings.Replace(draftIn(t, target, "short"), "7d", "2s", 1))
		self, short := all[0], all[1]
		creates(live, "Kyverno's check", target, draftIn(t, target, "unsigned"), "message not found").until(t, live)
		creates(live, "the check of the shape", target, self, "[reaches-guard]").until(t, live)
		t.Run(target.Group+"-"+target.Version, func(t *testing.T) {
			good := read(t, sealed(t, theReal(), write(t, "agent.yaml", draftIn(t, target, "agent"))))
			elsewhere := target
			elsewhere.Namespace = "team-b"
			refused := []attempt{
				creates(live, "not signed", target, draftIn(t, target, "agent"), "message not found"),
				creates(live, "a name widened", target, strings.Replace(good, "agent-", "a", 1), "diff found"),
				creates(live, "another name", target, strings.Replace(good, "name: agent\n", "name: other\n", 1), "diff found"),
				creates(live, "a label", target, strings.Replace(good, "metadata:\n", "metadata:\n  labels: {a: b}\n", 1), "diff found"),
				creates(live, "signed on another branch", target, sealedAs(t, sandbox.Identity{Ref: "refs/heads/dev"}, draftIn(t, target, "agent"))[0], "does not match"),
				creates(live, "exempts what guards it", target, self, "[reaches-guard]"),
			}
			untilEnded(t, short)
			admitted := []attempt{
				creates(live, "signed", target, good, ""),
				{name: "with what Flux and Argo CD add", do: func(ctx context.Context) (*cluster.Answer, error) {
					return live.Merge(ctx, target.Path("agent"), []byte(added))
				}},
				// It does not check these.
				creates(live, "ended", target, short, ""),
				creates(live, "in another namespace", elsewhere, strings.Replace(good, "namespace: team-a\n", "namespace: team-b\n", 1), ""),
				{name: "another name, in a dry run", do: func(ctx context.Context) (*cluster.Answer, error) {
					return live.DryRun(ctx, target, []byte(strings.Replace(good, "name: agent\n", "name: other\n", 1)))
				}},
			}
			for _, a := range append(refused, admitted...) {
				a.try(t)
			}
			answer, err := live.Get(t.Context(), target.Path("agent"))
			if err != nil || !answer.OK() {
				t.Fatal(err, answer)
			}
			got := verified(t, "--config", theReal().config, write(t, "live.json", string(answer.Body)))
			expect.That(t, got.reasons() == "[verified]", "what is live: %+v", got)
			for _, there := range []string{target.Path("agent"), target.Path("short"), elsewhere.Path("agent")} {
				must.Do(t, cluster.OK(live.Delete(t.Context(), there)))
			}
		})
	}
}

// added are the additions of GitOps tools.
const added = `{"metadata":{
	"labels":{"app.kubernetes.io/instance":"a","kustomize.toolkit.fluxcd.io/name":"a","kustomize.toolkit.fluxcd.io/namespace":"b"},
	"annotations":{"argocd.argoproj.io/tracking-id":"a:b","kubectl.kubernetes.io/last-applied-configuration":"{}"}}}`

// waitLimit is the timeout for expected events.
const waitLimit = time.Minute

// startKyverno runs a cluster with Kyverno configured for the real Sigstore.
func startKyverno(t *testing.T) *cluster.Cluster {
	t.Helper()
	dir := must.Get(os.MkdirTemp("", "polex-kyverno-"))(t) // t.TempDir's is removed before the processes end
	live := must.Get(fixture.Cluster(context.Background(), cluster.Options{Dir: dir, KyvernoEnv: theirEnv(t)}))(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(live.Logs())
		}
		_ = live.Close()
		_ = os.RemoveAll(dir)
	})
	t.Log("real servers:", live.Names())
	for _, namespace := range []string{"team-a", "team-b"} {
		must.Do(t, live.CreateNamespace(t.Context(), namespace))
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
		must.That(t, strings.Count(text, pairs[i]) == 1,
			"%s holds %q %d times", path, pairs[i], strings.Count(text, pairs[i]))
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
	root := must.Get(trust.LoadRoot(real.TrustedRootPath))(t)
	text := must.Get(box.Token(id, "sigstore"))(t)
	signer := must.Get(sign.Keyless(t.Context(), sign.Config{RekorURL: real.RekorURL, Root: root}, real.FulcioURL,
		text, time.Now()))(t)
	var docs []*exception.Document
	for _, text := range drafts {
		docs = append(docs, must.Get(exception.Parse([]byte(text), "draft"))(t))
	}
	docs = must.Get(signer.Seal(t.Context(), docs, time.Now()))(t)
	texts := make([]string, len(docs))
	for i, doc := range docs {
		texts[i] = string(doc.Source())
	}
	return texts
}

// untilEnded waits until a signed exception has expired.
func untilEnded(t *testing.T, sealed string) {
	t.Helper()
	doc := must.Get(exception.Parse([]byte(sealed), "sealed"))(t)
	life, err := lifetime.Of(doc, lifetime.Terms{})
	must.That(t, err == nil && !life.ExpiresAt.IsZero(), "%v: it has no end", err)
	fixture.Wait(t, life.ExpiresAt)
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
	err := live.Until(ctx, a.name, func(ctx context.Context) error {
		answer, err := a.do(ctx)
		if err == nil && (answer.OK() != (a.why == "") || !strings.Contains(answer.Message(), a.why)) {
			err = fmt.Errorf("%d: %s", answer.Code, answer.Message())
			last = err
		}
		return err
	})
	must.That(t, err == nil, "%v; before: %v", err, last)
}
