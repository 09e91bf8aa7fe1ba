package verify_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	kjson "sigs.k8s.io/json"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// change is one edit of the honest document, at a key of a mapping.
type change struct {
	name  string
	at    []any
	key   string
	value any // nil: removed
}

func (c change) apply(t *testing.T, root object) {
	m := dig(t, root, c.at...)
	if c.value == nil {
		if _, ok := m[c.key]; !ok {
			t.Fatalf("there is no %q to remove", c.key)
		}
		delete(m, c.key)
		return
	}
	m[c.key] = c.value
	if _, ok := c.value.(null); ok {
		m[c.key] = nil
	}
}

// null is a JSON null as a new value.
type null struct{}

// objectVerdicts are about honest signatures on modified objects.
func objectVerdicts(*world) []verdict {
	metadata, labels, annotations := []any{"metadata"}, []any{"metadata", "labels"}, []any{"metadata", "annotations"}
	spec, resources := []any{"spec"}, []any{"spec", "match", "any", 0, "resources"}
	condition := []any{"spec", "conditions", "any", 0}
	anyKind := func(c *trust.Config) { c.Kinds = []string{"*"} }
	var out []verdict
	for _, c := range []change{
		{"a field added", spec, "podSecurity", []any{object{"controlName": "Seccomp"}}},
		{"a field changed", resources, "names", []any{"*"}},
		{"a field removed", spec, "conditions", nil},
		{"a top-level field added", nil, "data", object{}},
		{"a label added", labels, "team2", "x"},
		{"a label changed", labels, "team", "evil"},
		{"a label removed", labels, "team", nil},
		{"all labels removed", metadata, "labels", nil},
		{"an annotation added", annotations, "polex.dev/ticket", "T-1"},
		{"an annotation changed", annotations, "polex.dev/reason", "because"},
		{"an annotation removed", annotations, "polex.dev/reason", nil},
		{"an owner reference", metadata, "ownerReferences", []any{object{"name": "x"}}},
		{"another name", metadata, "name", "allow-all"},
		{"another version", nil, "apiVersion", "kyverno.io/v2beta1"},
		{"another group", nil, "apiVersion", "policies.kyverno.io/v1"},
		{"another namespace", metadata, "namespace", "kyverno"},
		{"no namespace", metadata, "namespace", nil},
		{"the key status removed", append(slices.Clone(resources), "selector", "matchLabels"), "status", nil},
		{"the key status changed", append(slices.Clone(resources), "selector", "matchLabels"), "status", "any"},
		{"a key that holds status added", append(slices.Clone(resources), "selector", "matchLabels"), "x.status", "any"},
		{"status within the spec", spec, "status", object{}},
		{"managedFields within the spec", spec, "managedFields", []any{}},
		{"uid outside of metadata", nil, "uid", "1"},
		{"an empty mapping", spec, "properties", object{}},
		{"an empty list", spec, "podSecurity", []any{}},
		{"null", spec, "podSecurity", null{}},
		{"null instead of a value", spec, "background", null{}},
		{"an empty text", annotations, "polex.dev/ticket", ""},
		{"a list emptied", resources, "namespaces", []any{}},
		{"a mapping emptied", resources, "selector", object{}},
		{"a number as text", condition, "value", "3"},
		{"a number with a fraction", condition, "value", 3.5},
		{"a number as a float", condition, "value", 3.0},
		{"a truth as text", spec, "background", "true"},
		{"a text as a list", condition, "operator", []any{"Equals"}},
		{"a list as a text", resources, "kinds", "Pod"},
		{"a default: false", spec, "suspend", false},
		{"a default: 0", spec, "priority", int64(0)},
		{"a truth turned", spec, "background", false},
		{"finalizers", metadata, "finalizers", []any{"evil"}},
		{"no finalizers", metadata, "finalizers", []any{}},
		{"a deletion's time", metadata, "deletionTimestamp", "2026-01-01T00:00:00Z"},
		{"a name to be generated", metadata, "generateName", "x-"},
		{"a dotted key is no path", nil, "metadata.uid", "1"},
	} {
		out = append(out, verdict{name: c.name, want: verify.ReasonAltered, doc: changed(c.apply)})
	}
	return append(out,
		verdict{name: "another kind that no policy speaks of", want: verify.ReasonKindNotAllowed, doc: changed(change{key: "kind", value: "ConfigMap"}.apply)},
		verdict{name: "another kind of a policy that takes any", want: verify.ReasonAltered, policy: anyKind, doc: changed(change{key: "kind", value: "ConfigMap"}.apply)},
		verdict{name: "another case of the kind", want: verify.ReasonKindNotAllowed, doc: changed(change{key: "kind", value: "policyexception"}.apply)},
		verdict{name: "the kind that the policy speaks of, and another group", want: verify.ReasonKindNotAllowed, doc: honest,
			policy: func(c *trust.Config) { c.Kinds = []string{"PolicyException.policies.kyverno.io"} }},
		verdict{name: "a filter that matches everything, appended", want: verify.ReasonAltered, doc: changed(func(t *testing.T, root object) {
			match := dig(t, root, "spec", "match")
			match["any"] = append(match["any"].([]any), object{"resources": object{"namespaceSelector": object{}}})
		})},
		verdict{name: "a filter that matches everything, in front", want: verify.ReasonAltered, doc: changed(func(t *testing.T, root object) {
			match := dig(t, root, "spec", "match")
			match["any"] = append([]any{object{"resources": object{"kinds": []any{"*"}}}}, match["any"].([]any)...)
		})},
		verdict{name: "the widened document under the honest one's signature", want: verify.ReasonAltered, doc: widened},
		verdict{name: "what the API server adds", doc: applied},
		verdict{name: "what the API server adds, under false names", want: verify.ReasonAltered, doc: changed(change{at: metadata, key: "UID", value: "1"}.apply)},
	)
}

// widened is another document with the same identity and the honest signature.
func widened(t *testing.T, w *world) *exception.Document {
	evil := parse(t, swapped(w.until(week), "vendor-*", "*"))
	return edited(t, evil, func(root object) {
		annotations := dig(t, root, "metadata", "annotations")
		for key, value := range dig(t, w.honest.Object(), "metadata", "annotations") {
			annotations[key] = value
		}
	})
}

// applied is the object as in an admission request or a watch: through JSON, with the additions of
// the API server and its clients.
func applied(t *testing.T, w *world) *exception.Document {
	sent := edited(t, w.honest, func(root object) {
		written := object{
			"uid": "8e3cf5b0-6a4a-4c59-9a0a-0d2a0c6f1d11", "resourceVersion": "4711", "generation": int64(2), "creationTimestamp": "2026-01-02T03:04:05Z",
			"selfLink": "/apis/kyverno.io/v2/namespaces/exceptions/policyexceptions/allow-latest",
			"managedFields": []any{object{"manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "kyverno.io/v2",
				"time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1", "fieldsV1": object{"f:spec": object{".": object{}, "f:match": object{}}}}},
		}
		for key, value := range written {
			dig(t, root, "metadata")[key] = value
		}
		dig(t, root, "metadata", "annotations")["kubectl.kubernetes.io/last-applied-configuration"] = jsonOf(t, w.honest)
		root["status"] = object{"conditions": []any{}}
	})
	var decoded object
	must.Do(t, kjson.UnmarshalCaseSensitivePreserveInts([]byte(jsonOf(t, sent)), &decoded)) // like Kubernetes' decoder
	return must.Get(exception.FromObject(decoded))(t)
}

func jsonOf(t testing.TB, doc *exception.Document) string {
	t.Helper()
	raw := must.Get(json.Marshal(doc.Object()))(t)
	return string(raw)
}

// The keys that GitOps tools add, with their place. This list comes from the design, not from the code.
var added = map[string][]string{
	"annotations": {
		"kubectl.kubernetes.io/last-applied-configuration", "config.k8s.io/owning-inventory",
		"argocd.argoproj.io/tracking-id", "argocd.argoproj.io/installation-id",
		"config.kubernetes.io/origin", "alpha.config.kubernetes.io/transformations",
		"objectset.rio.cattle.io/id", "objectset.rio.cattle.io/applied", "objectset.rio.cattle.io/owner-gvk",
		"objectset.rio.cattle.io/owner-name", "objectset.rio.cattle.io/owner-namespace",
		"kapp.k14s.io/identity", "kapp.k14s.io/original", "kapp.k14s.io/original-diff-md5",
		"configmanagement.gke.io/cluster-name", "configmanagement.gke.io/source-path", "configmanagement.gke.io/token",
		"configsync.gke.io/declared-fields", "configsync.gke.io/git-context", "configsync.gke.io/manager", "configsync.gke.io/resource-id",
	},
	"labels": {
		"app.kubernetes.io/instance", "argocd.argoproj.io/instance", "applyset.kubernetes.io/part-of",
		"kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace",
		"objectset.rio.cattle.io/hash", "kapp.k14s.io/app", "kapp.k14s.io/association", "configsync.gke.io/declared-version",
	},
}

// fixed are keys that count with one value only: place, key and value.
var fixed = [][3]string{
	{"annotations", "configmanagement.gke.io/managed", "enabled"},
	{"labels", "app.kubernetes.io/managed-by", "configmanagement.gke.io"},
}

// directives are keys that tell a tool to prune, skip, keep, replace or hook an object, or that the
// tool writes on its own objects only.
var directives = []string{
	"argocd.argoproj.io/hook", "argocd.argoproj.io/hook-delete-policy", "argocd.argoproj.io/sync-wave", "argocd.argoproj.io/compare-options",
	"argocd.argoproj.io/ignore-resource-updates", "argocd.argoproj.io/ignore-healthcheck", "argocd.argoproj.io/secret-type", "argocd.argoproj.io/skip-reconcile",
	"argocd.argoproj.io/refresh", "argocd.argoproj.io/client-side-apply-migration-manager", "link.argocd.argoproj.io/a", "applications.argoproj.io/app-name",
	"kustomize.toolkit.fluxcd.io/prune", "kustomize.toolkit.fluxcd.io/ssa", "kustomize.toolkit.fluxcd.io/force", "kustomize.toolkit.fluxcd.io/substitute",
	"reconcile.fluxcd.io/requestedAt", "helm.toolkit.fluxcd.io/driftDetection", "helm.toolkit.fluxcd.io/namespace",
	"helm.sh/hook", "helm.sh/resource-policy", "helm.sh/chart", "meta.helm.sh/release-name", "meta.helm.sh/release-namespace",
	"applyset.kubernetes.io/id", "applyset.kubernetes.io/tooling", "applyset.kubernetes.io/contains-group-kinds", "applyset.kubernetes.io/inventory",
	"config.kubernetes.io/local-config", "config.kubernetes.io/depends-on", "config.kubernetes.io/index", "internal.config.kubernetes.io/path",
	"client.lifecycle.config.k8s.io/mutation", "client.lifecycle.config.k8s.io/deletion", "cli-utils.sigs.k8s.io/on-remove", "cli-utils.sigs.k8s.io/inventory-id",
	"objectset.rio.cattle.io/prune", "objectset.rio.cattle.io/", "objectset.rio.cattle.io/owner", "field.cattle.io/projectId", "fleet.cattle.io/managed",
	"kapp.k14s.io/nonce", "kapp.k14s.io/noop", "kapp.k14s.io/exists", "kapp.k14s.io/orphaned", "kapp.k14s.io/disable-original", "kapp.k14s.io/delete-strategy",
	"kapp.k14s.io/create-strategy", "kapp.k14s.io/update-strategy", "kapp.k14s.io/change-group", "kapp.k14s.io/change-rule", "kapp.k14s.io/versioned",
	"kapp.k14s.io/owned-for-deletion", "kapp.k14s.io/is-app", "kapp.k14s.io/original-diff", "kapp.k14s.io/renew-duration",
	"configmanagement.gke.io/managed", "configmanagement.gke.io/namespace-selector", "configmanagement.gke.io/cluster-selector", "configmanagement.gke.io/declared-config",
	"configsync.gke.io/cluster-name-selector", "configsync.gke.io/deletion-propagation-policy", "configsync.gke.io/sync-kind", "configsync.gke.io/unknown-scope",
	"hnc.x-k8s.io/managed-by", "cleanup.kyverno.io/ttl", "polex.dev/cluster",
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
			t.Run(key+" signed with another value", func(t *testing.T) { keepsItsValue(t, v, w, place, key, "changed") })
		}
		for _, key := range slices.Concat(nearMisses, directives) {
			t.Run("near miss "+key+" in "+place, func(t *testing.T) {
				judge(t, v, changed(change{at: []any{"metadata", place}, key: key, value: "x"}.apply)(t, w), w.now, verify.ReasonAltered)
			})
		}
	}
}

// TestGitOpsFixedValues: these keys count with their value in their place, and with no other.
func TestGitOpsFixedValues(t *testing.T) {
	w := inWorld(t)
	v := w.verifier(t, nil, nil)
	for _, f := range fixed {
		for place, values := range map[string]map[string]string{
			f[0]: {f[2]: "", "": verify.ReasonAltered, "disabled": verify.ReasonAltered, f[2] + "x": verify.ReasonAltered},
			map[string]string{"annotations": "labels", "labels": "annotations"}[f[0]]: {f[2]: verify.ReasonAltered},
		} {
			for value, want := range values {
				t.Run(f[1]+"="+value+" in "+place, func(t *testing.T) {
					judge(t, v, changed(change{at: []any{"metadata", place}, key: f[1], value: value}.apply)(t, w), w.now, want)
				})
			}
		}
	}
}

// TestGitOpsLabelsOnAnUnlabelledDocument: a mapping that a tool created for its label is ignored
// too. An unneeded empty one is not.
func TestGitOpsLabelsOnAnUnlabelledDocument(t *testing.T) {
	w := inWorld(t)
	v := w.verifier(t, nil, nil)
	signed := w.sealed(t, swapped(w.until(week), "  labels:\n    team: payments\n", ""), set{})
	labelled := func(labels object) *exception.Document { return edited(t, signed, put(labels, "metadata", "labels")) }
	judge(t, v, labelled(object{"app.kubernetes.io/instance": "apps"}), w.now, "")
	judge(t, v, labelled(object{}), w.now, verify.ReasonAltered)
	judge(t, v, labelled(object{"app.kubernetes.io/instance": "apps", "evil": "x"}), w.now, verify.ReasonAltered)
}

// keepsItsValue checks that a signed key of labels or annotations can neither change nor go.
func keepsItsValue(t *testing.T, v *verify.Verifier, w *world, place, key, other string) {
	t.Helper()
	before := map[string]string{"annotations": "    polex.dev/reason", "labels": "    team"}[place]
	signed := w.sealed(t, swapped(w.until(week), before, "    "+key+": signed\n"+before), set{})
	judge(t, v, signed, w.now, "")
	judge(t, v, edited(t, signed, put(other, "metadata", place, key)), w.now, verify.ReasonAltered)
	judge(t, v, edited(t, signed, func(root object) { delete(dig(t, root, "metadata", place), key) }), w.now, verify.ReasonAltered)
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

	t.Run("a signed key keeps its value", func(t *testing.T) { keepsItsValue(t, v, w, "labels", "owner", "me") })

	t.Run("only what was signed is read", func(t *testing.T) {
		doc := edited(t, w.honest, both(put("Helm", "metadata", "labels", managed), put("exceptions", "metadata", "annotations", release)))
		without := must.Get(v.Verify(w.honest, w.now))(t)
		with := must.Get(v.Verify(doc, w.now))(t)
		expect.Equal(t, "the message (-without what was added +with)", without.Message().Object(), with.Message().Object())
	})
}

// TestAllowedMetadataHint: the message about an addition names the tool that writes it, and the
// setting or command that helps, unless it would not help.
func TestAllowedMetadataHint(t *testing.T) {
	w := inWorld(t)
	v := w.verifier(t, nil, nil)
	const allow = "; list it under allowedMetadata in the trust policy"
	const replace = `if an older version left it, run "kubectl replace -f FILE" once`
	unlabelled := w.sealed(t, swapped(w.until(week), "  labels:\n    team: payments\n", ""), set{})
	labels := func(values object) func(root object) { return put(values, "metadata", "labels") }
	notBackground := put(false, "spec", "background")
	appended := func(root object) {
		put(append(dig(t, root, "spec")["exceptions"].([]any), "x"), "spec", "exceptions")(root)
	}
	// managed adds the managed fields of two managers: of the signature, and of another field.
	managed := func(edit func(root object), signer, owner string, owned object) func(root object) {
		return func(root object) {
			edit(root)
			dig(t, root, "metadata")["managedFields"] = []any{
				object{"manager": "other", "operation": "Update", "fieldsType": "FieldsV1"},
				object{"manager": signer, "operation": "Apply", "fieldsV1": object{"f:metadata": object{"f:annotations": object{"f:cosign.sigstore.dev/message": object{}}}}},
				object{"manager": owner, "operation": "Apply", "fieldsV1": owned},
			}
		}
	}
	ofLabel := func(key string) object {
		return object{"f:metadata": object{"f:labels": object{".": object{}, "f:" + key: object{}}}}
	}
	const byHelm = `label app.kubernetes.io/managed-by=Helm was added after signing by Helm`
	helms := labels(object{"app.kubernetes.io/managed-by": "Helm"})
	for want, edit := range map[string]func(root object){
		byHelm + allow + "; or, " + replace:        helms,
		byHelm + ` (field manager "helm")` + allow: managed(helms, "helm", "helm", ofLabel("app.kubernetes.io/managed-by")),
		byHelm + ` (field manager "helm"); an older version left it: run "kubectl replace -f FILE" once`: managed(helms, "argocd-controller", "helm", ofLabel("app.kubernetes.io/managed-by")),
		byHelm + allow + "; or, " + replace + " ":                                                        managed(helms, "argocd-controller", "helm", ofLabel("app.kubernetes.io/managed")),
		`label a=b was added after signing (field manager "a\n` + strings.Repeat("b", 58) + `"); an older version left it: run "kubectl replace -f FILE" once`: managed(labels(object{"a": "b"}),
			"helm", "a\n"+strings.Repeat("b", 100), ofLabel("a")),
		`label a=b was added after signing (Helm, Flux commonMetadata and kustomize do this)` + allow + "; or, " + replace: labels(object{"a": "b"}),
		`annotation meta.helm.sh/release-name="exceptions" was added after signing by Helm; label a=b was added after signing; label c=d was added after signing; and more` + allow + "; or, " + replace: both(
			put("exceptions", "metadata", "annotations", "meta.helm.sh/release-name"), labels(object{"a": "b", "c": "d", "e": "f", "g": "h"})),
		`label a=b was added after signing; spec.background is false, signed as true`:                     both(labels(object{"a": "b"}), notBackground),
		`spec.background is false, signed as true`:                                                        managed(notBackground, "argocd-controller", "kubectl-edit", object{"f:spec": object{"f:background": object{}}}),
		`label a=b was added after signing; spec.exceptions[1] was added after signing ("x"); ` + replace: both(labels(object{"a": "b"}), appended),
		`spec.exceptions[1] was added after signing ("x") (field manager "argocd-controller")`:            managed(appended, "argocd-controller", "argocd-controller", object{"f:spec": object{"f:exceptions": object{}}}),
		`label cleanup.kyverno.io/ttl=1h was added after signing; ` + replace:                             labels(object{"cleanup.kyverno.io/ttl": "1h"}),
		`label argocd.argoproj.io/secret-type=x was added after signing; ` + replace:                      labels(object{"argocd.argoproj.io/secret-type": "x"}),
		`label kustomize.toolkit.fluxcd.io/prune=disabled was added after signing; ` + replace:            labels(object{"kustomize.toolkit.fluxcd.io/prune": "disabled"}),
		`metadata.labels["a\nb"] was added after signing ("c"); ` + replace:                               labels(object{"a\nb": "c"}),
	} {
		verified, err := v.Verify(edited(t, unlabelled, edit), w.now)
		if rejected := answers(t, verified, err, verify.ReasonAltered); rejected != nil {
			got := strings.TrimPrefix(rejected.Detail, "it differs from its signed content: ")
			expect.Is(t, "difference", strings.TrimSpace(want), got)
		}
	}
}
