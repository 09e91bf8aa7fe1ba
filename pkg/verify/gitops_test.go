package verify_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// The keys that GitOps tools add, with their place. This list comes from the design, not from the
// code.
var added = map[string][]string{
	"annotations": {"kubectl.kubernetes.io/last-applied-configuration", "argocd.argoproj.io/tracking-id"},
	"labels":      {"app.kubernetes.io/instance", "kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace"},
}

// nearMisses are keys that look similar.
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

// TestGitOpsLabelsOnAnUnlabelledDocument: a mapping that a tool created for its label is ignored
// too. An unneeded empty one is not.
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

// helm allows Helm's additions.
func helm(c *trust.Config) {
	c.AllowedMetadata = trust.AllowedMetadata{
		Labels:      map[string]string{"app.kubernetes.io/managed-by": "Helm", "team": "payments", "owner": "me"},
		Annotations: map[string]string{"meta.helm.sh/release-name": "exceptions"},
	}
}

// TestAllowedMetadata: the allowed metadata of the trust policy may be added with its exact name,
// value and place. It does not change signed values.
func TestAllowedMetadata(t *testing.T) {
	w := inWorld(t)
	v := w.verifier(t, helm, nil)
	metadata, labels, annotations := []any{"metadata"}, []any{"metadata", "labels"}, []any{"metadata", "annotations"}
	const managed, release = "app.kubernetes.io/managed-by", "meta.helm.sh/release-name"
	for _, tc := range []struct {
		change
		want string
	}{
		{change{"label", labels, managed, "Helm"}, ""},
		{change{"annotation", annotations, release, "exceptions"}, ""},
		{change{"another value", labels, managed, "helm"}, verify.ReasonAltered},
		{change{"an empty value", labels, managed, ""}, verify.ReasonAltered},
		{change{"null", labels, managed, null{}}, verify.ReasonAltered},
		{change{"a mapping", labels, managed, object{"Helm": "Helm"}}, verify.ReasonAltered},
		{change{"another name", labels, managed + "2", "Helm"}, verify.ReasonAltered},
		{change{"label as annotation", annotations, managed, "Helm"}, verify.ReasonAltered},
		{change{"annotation as label", labels, release, "exceptions"}, verify.ReasonAltered},
		{change{"beside the labels", metadata, managed, "Helm"}, verify.ReasonAltered},
		{change{"in a selector", []any{"spec", "match", "any", 0, "resources", "selector", "matchLabels"}, managed, "Helm"}, verify.ReasonAltered},
		{change{"with another key", labels, "evil", "Helm"}, verify.ReasonAltered},
		{change{"a signed key removed", labels, "team", nil}, verify.ReasonAltered},
		{change{"all labels removed", metadata, "labels", nil}, verify.ReasonAltered},
	} {
		t.Run(tc.name, func(t *testing.T) {
			doc := changed(tc.apply)(t, w)
			judge(t, v, doc, w.now, tc.want)
			judge(t, w.verifier(t, nil, nil), doc, w.now, verify.ReasonAltered)
		})
	}

	t.Run("a signed key keeps its value", func(t *testing.T) {
		signed := w.sealed(t, replaced(t, w.until(week), "    team: payments\n", "    team: payments\n    owner: you\n"), set{})
		judge(t, v, signed, w.now, "")
		judge(t, v, edited(t, signed, func(root object) { dig(t, root, "metadata", "labels")["owner"] = "me" }), w.now, verify.ReasonAltered)
		judge(t, v, edited(t, signed, func(root object) { delete(dig(t, root, "metadata", "labels"), "owner") }), w.now, verify.ReasonAltered)
	})

	t.Run("only what was signed is read", func(t *testing.T) {
		doc := edited(t, w.honest, func(root object) {
			dig(t, root, "metadata", "labels")[managed] = "Helm"
			dig(t, root, "metadata", "annotations")[release] = "exceptions"
		})
		without, err := v.Verify(w.honest, w.now)
		if err != nil {
			t.Fatal(err)
		}
		with, err := v.Verify(doc, w.now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(without.Message().Object(), with.Message().Object()); diff != "" {
			t.Errorf("the message (-without what was added +with):\n%s", diff)
		}
	})
}

// TestAllowedMetadataHint: the message about a label that a tool added names the setting, unless
// the setting would not help.
func TestAllowedMetadataHint(t *testing.T) {
	w := inWorld(t)
	v := w.verifier(t, nil, nil)
	const hint = " (Helm, Flux commonMetadata and kustomize do this); list it under allowedMetadata in the trust policy"
	unlabelled := w.sealed(t, replaced(t, w.until(week), "  labels:\n    team: payments\n", ""), set{})
	for want, edit := range map[string]func(root object){
		`label app.kubernetes.io/managed-by=Helm was added after signing` + hint: func(root object) {
			dig(t, root, "metadata")["labels"] = object{"app.kubernetes.io/managed-by": "Helm"}
		},
		`annotation meta.helm.sh/release-name="exceptions" was added after signing; label a=b was added after signing; label c=d was added after signing; and more` + hint: func(root object) {
			dig(t, root, "metadata", "annotations")["meta.helm.sh/release-name"] = "exceptions"
			dig(t, root, "metadata")["labels"] = object{"a": "b", "c": "d", "e": "f", "g": "h"}
		},
		`label a=b was added after signing; spec.background is false, signed as true`: func(root object) {
			dig(t, root, "metadata")["labels"] = object{"a": "b"}
			dig(t, root, "spec")["background"] = false
		},
		`label cleanup.kyverno.io/ttl=1h was added after signing`: func(root object) {
			dig(t, root, "metadata")["labels"] = object{"cleanup.kyverno.io/ttl": "1h"}
		},
		`metadata.labels["a\nb"] was added after signing ("c")`: func(root object) {
			dig(t, root, "metadata")["labels"] = object{"a\nb": "c"}
		},
	} {
		var rejected *verify.Rejected
		if _, err := v.Verify(edited(t, unlabelled, edit), w.now); !errors.As(err, &rejected) || rejected.Reason != verify.ReasonAltered ||
			strings.TrimPrefix(rejected.Detail, "it differs from its signed content: ") != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
