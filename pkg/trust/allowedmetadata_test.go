package trust_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/trust/publicgood"
	"github.com/polex-dev/polex/test/expect"
)

// TestAllowedMetadata: metadata that polex, Kyverno or a sync tool acts upon cannot be allowed. A
// tool reads each key here.
func TestAllowedMetadata(t *testing.T) {
	root := expect.Value(trust.ParseRoot(publicgood.TrustedRootJSON(), "public-good"))(t)
	made := func(field, key, value string) error {
		c := trust.Config{Authorities: []trust.AuthorityConfig{{Issuer: "https://accounts.example", Subject: "anna@acme.example"}}}
		c.ExpiryKeys = []string{"acme.example/until"}
		switch field {
		case "labels":
			c.AllowedMetadata.Labels = map[string]string{key: value}
		default:
			c.AllowedMetadata.Annotations = map[string]string{key: value}
		}
		_, err := trust.New(c, root)
		return err
	}
	for _, field := range []string{"labels", "annotations"} {
		for _, key := range []string{
			"cosign.sigstore.dev/message", "cosign.sigstore.dev/signature_1", "sigstore.dev/a", "polex.dev/reason", "polex.dev/expires-at", "polex.dev/cluster", "x.polex.dev/a",
			"kyverno.io/a", "cleanup.kyverno.io/ttl", "policies.kyverno.io/a", "a.b.kyverno.io/c",
			"argocd.argoproj.io/sync-options", "argocd.argoproj.io/compare-options", "argocd.argoproj.io/hook", "argocd.argoproj.io/tracking-id",
			"kustomize.toolkit.fluxcd.io/prune", "kustomize.toolkit.fluxcd.io/reconcile", "kustomize.toolkit.fluxcd.io/ssa", "kustomize.toolkit.fluxcd.io/force",
			"kustomize.toolkit.fluxcd.io/substitute", "reconcile.fluxcd.io/requestedAt", "helm.toolkit.fluxcd.io/driftDetection",
			"helm.sh/hook", "helm.sh/resource-policy", "meta.helm.sh/other", "kubectl.kubernetes.io/last-applied-configuration",
			"applyset.kubernetes.io/part-of", "config.kubernetes.io/local-config", "internal.config.kubernetes.io/path", "kubernetes.io/metadata.name", "x.app.kubernetes.io/a",
			"config.k8s.io/owning-inventory", "cli-utils.sigs.k8s.io/on-remove", "client.lifecycle.config.k8s.io/deletion",
			"kapp.k14s.io/app", "objectset.rio.cattle.io/hash", "configmanagement.gke.io/managed", "configsync.gke.io/a",
			"acme.example/until",
			"", "/", "a/", "/a", "a/b/c", "team*", "*", "team ", "Kyverno.io/a", "CLEANUP.KYVERNO.IO/ttl", "kyverno.io./a", "a\nb",
		} {
			if err := made(field, key, "x"); err == nil || !strings.HasPrefix(err.Error(), "allowedMetadata."+field+": ") {
				t.Errorf("%s of %s: %v", key, field, err)
			}
		}
		for _, key := range []string{
			"team", "app.kubernetes.io/managed-by", "app.kubernetes.io/part-of", "meta.helm.sh/release-name", "meta.helm.sh/release-namespace",
			"helm.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/namespace", "acme.example/team", "notkyverno.io/a",
			"argocd.argoproj.io/instance", "applications.argoproj.io/app-name", "helm.sh/chart", "mycompany.com/appname", // instanceLabelKey of Argo CD
			"kyverno.io.acme.example/a",
		} {
			if err := made(field, key, "x"); err != nil {
				t.Error(err)
			}
		}
	}
	for _, value := range []string{"a b", "a/b", strings.Repeat("a", 64)} {
		if made("labels", "team", value) == nil || made("annotations", "team", value) != nil {
			t.Errorf("%q: of a label %v, of an annotation %v", value, made("labels", "team", value), made("annotations", "team", value))
		}
	}
}
