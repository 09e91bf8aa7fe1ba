//go:build e2e

package interop

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
)

// TestValidateManifests: Kyverno's validate.manifests admits exceptions from polex-sign in every
// version, and rejects others. It also admits the ones that docs/explanation/interop.md lists as not
// checked.
func TestValidateManifests(t *testing.T) {
	live := startKyverno(t)
	for _, policy := range [][]byte{
		filled(t, "testdata/validatemanifests.yaml",
			"https://token.actions.githubusercontent.com", box.IssuerURL,
			"https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/main", sandbox.Identity{}.Subject(),
			"https://rekor.sigstore.dev", real.RekorURL),
		filled(t, fixture.FromRoot("policies/shape/clusterpolicy.yaml")),
	} {
		post(t, live, clusterPolicies, policy)
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
					return live.Do(ctx, cluster.Request{Method: http.MethodPatch, Path: target.Path("agent"), ContentType: "application/merge-patch+json", Body: []byte(added)})
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
			answer, err := live.Do(t.Context(), cluster.Request{Method: http.MethodGet, Path: target.Path("agent")})
			if err != nil || !answer.OK() {
				t.Fatal(err, answer)
			}
			if got := verified(t, "--config", theReal().config, write(t, "live.json", string(answer.Body))); got.reasons() != "[verified]" {
				t.Errorf("what is live: %+v", got)
			}
			for _, there := range []string{target.Path("agent"), target.Path("short"), elsewhere.Path("agent")} {
				remove(t, live, there)
			}
		})
	}
}

// added are the additions of GitOps tools.
const added = `{"metadata":{
	"labels":{"app.kubernetes.io/instance":"a","kustomize.toolkit.fluxcd.io/name":"a","kustomize.toolkit.fluxcd.io/namespace":"b"},
	"annotations":{"argocd.argoproj.io/tracking-id":"a:b","kubectl.kubernetes.io/last-applied-configuration":"{}"}}}`
