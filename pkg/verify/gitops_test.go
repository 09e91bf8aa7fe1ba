package verify_test

import (
	"testing"

	"github.com/polex-dev/polex/pkg/verify"
)

// The keys that GitOps tools add, each at its one place. This list is written
// from the design and not from the code.
var added = map[string][]string{
	"annotations": {"kubectl.kubernetes.io/last-applied-configuration", "argocd.argoproj.io/tracking-id"},
	"labels":      {"app.kubernetes.io/instance", "kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace"},
}

// nearMisses are keys that somebody else might take for one of those.
var nearMisses = []string{
	"kubectl.kubernetes.io/last-applied-configuration-2", "kubectl.kubernetes.io/restartedAt", "kubectl.kubernetes.io", "kubectl.kubernetes.io/",
	"argocd.argoproj.io/tracking-id2", "argocd.argoproj.io/sync-options", "argocd.argoproj.io/Tracking-id", "Argocd.argoproj.io/tracking-id", "x.argocd.argoproj.io/tracking-id",
	"app.kubernetes.io/instances", "app.kubernetes.io/name", "app.kubernetes.io/managed-by", "app.kubernetes.io/instance ",
	"kustomize.toolkit.fluxcd.io/name2", "kustomize.toolkit.fluxcd.io/reconcile", "kustomize.toolkit.fluxcd.io/", "kustomize.toolkit.fluxcd.io/checksum",
	"helm.toolkit.fluxcd.io/name", "tracking-id", "instance", "", "cosign.sigstore.dev", "cosign.sigstore.devil/message",
}

func TestGitOpsKeys(t *testing.T) {
	w := inWorld(t)
	v := w.verifier(t, nil, nil)
	for place, keys := range added {
		other := map[string]string{"annotations": "labels", "labels": "annotations"}[place]
		for _, key := range keys {
			for _, tc := range []struct {
				name string
				at   []any
				want string
			}{
				{"in " + place, []any{"metadata", place}, ""},
				{"in " + other, []any{"metadata", other}, verify.ReasonAltered},
				{"in metadata", []any{"metadata"}, verify.ReasonAltered},
				{"in spec", []any{"spec"}, verify.ReasonAltered},
				{"in a selector", []any{"spec", "match", "any", 0, "resources", "selector", "matchLabels"}, verify.ReasonAltered},
			} {
				t.Run(key+" "+tc.name, func(t *testing.T) {
					judge(t, v, changed(change{at: tc.at, key: key, value: "x"}.apply)(t, w), w.now, tc.want)
				})
			}
			t.Run(key+" signed with another value", func(t *testing.T) {
				signed := w.sealed(t, replaced(t, w.until(week), map[string]string{
					"annotations": "    polex.dev/reason", "labels": "    team",
				}[place], "    "+key+": signed\n"+map[string]string{"annotations": "    polex.dev/reason", "labels": "    team"}[place]), set{})
				judge(t, v, signed, w.now, "")
				judge(t, v, edited(t, signed, func(root object) { dig(t, root, "metadata", place)[key] = "changed" }), w.now, verify.ReasonAltered)
				judge(t, v, edited(t, signed, func(root object) { delete(dig(t, root, "metadata", place), key) }), w.now, verify.ReasonAltered)
			})
		}
		for _, key := range nearMisses {
			t.Run("near miss "+key+" in "+place, func(t *testing.T) {
				judge(t, v, changed(change{at: []any{"metadata", place}, key: key, value: "x"}.apply)(t, w), w.now, verify.ReasonAltered)
			})
		}
	}
}

// TestGitOpsLabelsOnAnUnlabelledDocument: the mapping that a tool makes to hold
// its label goes with it, and an empty one that nobody needed does not.
func TestGitOpsLabelsOnAnUnlabelledDocument(t *testing.T) {
	w := inWorld(t)
	v := w.verifier(t, nil, nil)
	signed := w.sealed(t, replaced(t, w.until(week), "  labels:\n    team: payments\n", ""), set{})
	judge(t, v, edited(t, signed, func(root object) {
		dig(t, root, "metadata")["labels"] = object{"app.kubernetes.io/instance": "apps"}
	}), w.now, "")
	judge(t, v, edited(t, signed, func(root object) { dig(t, root, "metadata")["labels"] = object{} }), w.now, verify.ReasonAltered)
	judge(t, v, edited(t, signed, func(root object) {
		dig(t, root, "metadata")["labels"] = object{"app.kubernetes.io/instance": "apps", "evil": "x"}
	}), w.now, verify.ReasonAltered)
}
