package seal_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/test/expect"
)

// naive compares in another way than Compare: it removes the allowed additions with its own list,
// and compares the rest deeply.
func naive(live, message map[string]any) bool {
	delete(live, "status")
	delete(message, "status")
	haveMeta, ok1 := live["metadata"].(map[string]any)
	wantMeta, ok2 := message["metadata"].(map[string]any)
	for _, field := range strings.Fields("creationTimestamp generation managedFields resourceVersion selfLink uid") {
		if ok1 {
			delete(haveMeta, field)
		}
		if ok2 {
			delete(wantMeta, field)
		}
	}
	if ok1 && ok2 {
		tools := map[string]string{
			"argocd.argoproj.io/tracking-id":                   "annotations",
			"kubectl.kubernetes.io/last-applied-configuration": "annotations",
			"app.kubernetes.io/instance":                       "labels",
			"kustomize.toolkit.fluxcd.io/name":                 "labels",
			"kustomize.toolkit.fluxcd.io/namespace":            "labels",
		}
		for place, keys := range map[string]string{
			"annotations": "config.k8s.io/owning-inventory argocd.argoproj.io/installation-id config.kubernetes.io/origin alpha.config.kubernetes.io/transformations " +
				"objectset.rio.cattle.io/id objectset.rio.cattle.io/applied objectset.rio.cattle.io/owner-gvk objectset.rio.cattle.io/owner-name objectset.rio.cattle.io/owner-namespace " +
				"kapp.k14s.io/identity kapp.k14s.io/original kapp.k14s.io/original-diff-md5 configmanagement.gke.io/cluster-name configmanagement.gke.io/source-path configmanagement.gke.io/token " +
				"configsync.gke.io/declared-fields configsync.gke.io/git-context configsync.gke.io/manager configsync.gke.io/resource-id",
			"labels": "argocd.argoproj.io/instance objectset.rio.cattle.io/hash kapp.k14s.io/app kapp.k14s.io/association configsync.gke.io/declared-version applyset.kubernetes.io/part-of",
		} {
			for key := range strings.FieldsSeq(keys) {
				tools[key] = place
			}
		}
		if annotations, _ := haveMeta["annotations"].(map[string]any); annotations["configmanagement.gke.io/managed"] == "enabled" {
			tools["configmanagement.gke.io/managed"] = "annotations"
		}
		if labels, _ := haveMeta["labels"].(map[string]any); labels["app.kubernetes.io/managed-by"] == "configmanagement.gke.io" {
			tools["app.kubernetes.io/managed-by"] = "labels"
		}
		for _, n := range []string{"", "_1", "_2", "_3", "_4", "_5", "_6", "_7"} {
			for _, part := range []string{"signature", "certificate", "bundle", "bundle.v0.3"} {
				tools["cosign.sigstore.dev/"+part+n] = "annotations"
			}
		}
		tools["cosign.sigstore.dev/message"] = "annotations"
		for _, place := range []string{"annotations", "labels"} {
			have, _ := haveMeta[place].(map[string]any)
			want, _ := wantMeta[place].(map[string]any)
			removed := false
			for key, where := range tools {
				_, there := have[key]
				_, wanted := want[key]
				if where == place && there && !wanted {
					delete(have, key)
					removed = true
				}
			}
			if _, wanted := wantMeta[place]; removed && len(have) == 0 && !wanted {
				delete(haveMeta, place)
			}
		}
	}
	return reflect.DeepEqual(live, message)
}

// FuzzCompare compares Compare with naive.
func FuzzCompare(f *testing.F) {
	f.Add(signed, signed)
	f.Add("metadata: {uid: x, labels: {app.kubernetes.io/instance: y}}", "metadata: {}")
	f.Add("metadata: {annotations: {cosign.sigstore.dev/bundle.v0.3_7: y}}", "metadata: {}")
	f.Add("metadata: {annotations: {cosign.sigstore.dev/message_1: y}}", "metadata: {}")
	f.Add("metadata: {annotations: {argocd.argoproj.io/tracking-id: y}, labels: {argocd.argoproj.io/tracking-id: y}}", "metadata: {labels: {}}")
	f.Add("status: {}\na: [1, 2.0, {b: null}]", "a: [1, 2, {b: []}]")
	f.Fuzz(func(t *testing.T, a, b string) {
		live, err := exception.Parse([]byte(a), "object")
		if err != nil {
			return
		}
		message, err := exception.Parse([]byte(b), "message")
		if err != nil {
			return
		}
		for _, pair := range [][2]*exception.Document{{live, message}, {live, live}, {message, message}} {
			found := seal.Compare(pair[0], pair[1], 5)
			if want := naive(pair[0].Object(), pair[1].Object()); (len(found) == 0) != want {
				t.Fatalf("differences %v, and the naive way says equal: %t\n%s\n---\n%s", found, want, a, b)
			}
			for _, d := range found {
				if !d.InMessage && !d.InObject {
					t.Errorf("%s is nowhere", d.Path)
				}
			}
		}
	})
}

// FuzzRead: annotations that Read accepts are the same after they are attached to the plain
// document and read again.
func FuzzRead(f *testing.F) {
	f.Add("AAAA", "", "", "", "")
	f.Add(packed(f, []byte("a: b\n")), "AAAA", packed(f, []byte("x")), packed(f, []byte("{}")), packed(f, []byte("{}")))
	f.Fuzz(func(t *testing.T, message, signature, certificate, bundle, bundleV03 string) {
		annotations := object{}
		for part, value := range map[string]string{"message": message, "signature": signature, "certificate": certificate, "bundle": bundle, "bundle.v0.3": bundleV03} {
			if value != "" {
				annotations[seal.Prefix+part] = value
			}
		}
		s, err := seal.Read(annotated(t, annotations))
		if err != nil {
			return
		}
		if len(s.Message) > 1<<20 || len(s.Signatures) != 1 || len(s.Signatures[0].Signature) == 0 {
			t.Fatalf("a seal out of bounds: %d bytes, %d signatures", len(s.Message), len(s.Signatures))
		}
		out := expect.Value(seal.Attach(parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"), s))(t)
		again := expect.Value(seal.Read(out))(t)
		if !reflect.DeepEqual(s, again) {
			t.Errorf("read %+v, and again %+v", s, again)
		}
	})
}
