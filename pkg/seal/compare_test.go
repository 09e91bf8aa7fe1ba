package seal_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

const signed = `apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  labels: {team: x}
data:
  text: t
  number: 1
  float: 1.5
  truth: true
  nothing: null
  list: [a, b, c]
  mapping: {k: v, status: s}
  empty: {}
  none: []
`

// TestCompareDifferences: each edit of the object is reported with its path and both values.
func TestCompareDifferences(t *testing.T) {
	for _, tc := range []struct{ name, old, with, want string }{
		{"equal", "", "", ""},
		{"text", "text: t", "text: T", `data.text is "T", signed as "t"`},
		{"text emptied", "text: t", `text: ""`, `data.text is "", signed as "t"`},
		{"text and null", "text: t", "text: null", `data.text is null, signed as "t"`},
		{"number", "number: 1", "number: 2", `data.number is 2, signed as 1`},
		{"number as text", "number: 1", `number: "1"`, `data.number is "1", signed as 1`},
		{"number as float", "number: 1", "number: 1.0", `data.number is 1.0, signed as 1`},
		{"float", "float: 1.5", "float: 1.25", `data.float is 1.25, signed as 1.5`},
		{"whole float", "float: 1.5", "float: 100.0", `data.float is 100.0, signed as 1.5`},
		{"truth", "truth: true", "truth: false", `data.truth is false, signed as true`},
		{"truth as text", "truth: true", `truth: "true"`, `data.truth is "true", signed as true`},
		{"null as text", "nothing: null", `nothing: "null"`, `data.nothing is "null", signed as null`},
		{"null removed", "  nothing: null\n", "", `data.nothing was removed (signed as null)`},
		{"null added", "  text: t\n", "  text: t\n  more: null\n", `data.more was added after signing (null)`},
		{"item changed", "[a, b, c]", "[a, x, c]", `data.list[1] is "x", signed as "b"`},
		{"item appended", "[a, b, c]", "[a, b, c, d]", `data.list[3] was added after signing ("d")`},
		{"item removed", "[a, b, c]", "[a, b]", `data.list[2] was removed (signed as "c")`},
		{"items exchanged", "[a, b, c]", "[b, a, c]", `data.list[0] is "b", signed as "a"|data.list[1] is "a", signed as "b"`},
		{"list as mapping", "[a, b, c]", "{a: b}", `data.list is a mapping of 1 key, signed as a list of 3 items`},
		{"mapping as text", "{k: v, status: s}", "k", `data.mapping is "k", signed as a mapping of 2 keys`},
		{"text as mapping", "text: t", "text: {t: t}", `data.text is a mapping of 1 key, signed as "t"`},
		{"text as list", "text: t", "text: [t]", `data.text is a list of 1 item, signed as "t"`},
		{"empty mapping as empty list", "empty: {}", "empty: []", `data.empty is a list of 0 items, signed as a mapping of 0 keys`},
		{"empty mapping as null", "empty: {}", "empty: null", `data.empty is null, signed as a mapping of 0 keys`},
		{"empty list removed", "  none: []\n", "", `data.none was removed (signed as a list of 0 items)`},
		{"the key status, deeper", "status: s", "status: other", `data.mapping.status is "other", signed as "s"`},
		{"a dotted key", "  text: t\n", "  text: t\n  metadata.uid: u\n", `data["metadata.uid"] was added after signing ("u")`},
		{"a long text", "text: t", "text: " + strings.Repeat("é", 80), `data.text is "` + strings.Repeat("é", 57) + `"…, signed as "t"`},
		{"a hostile text", "text: t", `text: "a\n::error::b"`, `data.text is "a\n::error::b", signed as "t"`},
		{"kind", "kind: ConfigMap", "kind: Secret", `kind is "Secret", signed as "ConfigMap"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			object := parse(t, strings.Replace(signed, tc.old, tc.with, 1))
			var got []string
			for _, d := range seal.Compare(object, parse(t, signed), 10) {
				got = append(got, d.String())
			}
			expect.Equal(t, "result", tc.want, strings.Join(got, "|"))
		})
	}
}

func TestCompareLimitAndOrder(t *testing.T) {
	many := object{}
	for i := range 1000 {
		many[fmt.Sprintf("k%03d", i)] = int64(i)
	}
	message := fromObject(t, object{"data": object{}})
	document := fromObject(t, object{"data": many})
	for _, limit := range []int{1, 3, 1000, 2000} {
		found := seal.Compare(document, message, limit)
		expect.Is(t, "differences", min(limit, 1000), len(found))
		for i, d := range found {
			expect.Is(t, "path", fmt.Sprintf("data.k%03d", i), d.Path.String())
		}
	}
}

// TestCompareLeavesDocumentsAlone: a comparison changes neither side.
func TestCompareLeavesDocumentsAlone(t *testing.T) {
	message := parse(t, signed)
	live := parse(t, strings.Replace(signed, "name: a", "name: a\n  uid: u", 1)+"status: {}\n")
	before, beforeMessage := live.Object(), message.Object()
	expect.Is(t, "differences", 0, len(seal.Compare(live, message, 1)))
	expect.Equal(t, "the object changed", before, live.Object())
	expect.Equal(t, "the message changed", beforeMessage, message.Object())
}

// TestCompareOddMetadata: metadata that is not a mapping is compared completely.
func TestCompareOddMetadata(t *testing.T) {
	for _, tc := range []struct {
		name         string
		live, signed object
		equal        bool
	}{
		{"no metadata", object{"a": "b"}, object{"a": "b"}, true},
		{"metadata added", object{"metadata": object{}}, object{}, false},
		{"metadata added for a uid", object{"metadata": object{"uid": "u"}}, object{}, false},
		{"metadata of text", object{"metadata": "x"}, object{"metadata": "x"}, true},
		{"metadata of text and of a mapping", object{"metadata": "x"}, object{"metadata": object{}}, false},
		{"labels of text", object{"metadata": object{"labels": "x"}}, object{"metadata": object{}}, false},
		{"labels emptied", object{"metadata": object{"labels": object{}}}, object{"metadata": object{}}, false},
		{"labels for a tool", object{"metadata": object{"labels": object{"app.kubernetes.io/instance": "x"}}}, object{"metadata": object{}}, true},
		{"annotations for a seal", object{"metadata": object{"annotations": object{"cosign.sigstore.dev/message": "x"}}}, object{"metadata": object{}}, true},
		{"annotations for a seal, signed empty", object{"metadata": object{"annotations": object{"cosign.sigstore.dev/message": "x"}}}, object{"metadata": object{"annotations": object{}}}, true},
		{"annotations under the prefix that no seal has", object{"metadata": object{"annotations": object{"cosign.sigstore.dev/evil": "x"}}}, object{"metadata": object{}}, false},
		{"signed null where the seal made a mapping", object{"metadata": object{"annotations": object{"cosign.sigstore.dev/message": "x"}}}, object{"metadata": object{"annotations": nil}}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found := seal.Compare(fromObject(t, tc.live), fromObject(t, tc.signed), 3)
			expect.Is(t, fmt.Sprint("equal, with ", found), tc.equal, len(found) == 0)
		})
	}
}

// TestAddedMetadata: only a label or annotation with text is added metadata. Absent and null differ.
func TestAddedMetadata(t *testing.T) {
	path := func(of ...any) exception.Path { return of }
	for _, tc := range []struct {
		difference seal.Difference
		field, old string
	}{
		{seal.Difference{Path: path("metadata", "labels", "a"), InObject: true, Object: "b"}, "labels", "absent"},
		{seal.Difference{Path: path("metadata", "annotations", "a"), InObject: true, Object: "b"}, "annotations", "absent"},
		{seal.Difference{Path: path("metadata", "annotations", "a"), InObject: true, Object: nil}, "", "absent"},
		{seal.Difference{Path: path("metadata", "finalizers", "a"), InObject: true, Object: "b"}, "", "absent"},
		{seal.Difference{Path: path("spec", "labels", "a"), InObject: true, Object: "b"}, "", "absent"},
		{seal.Difference{Path: path("metadata", "labels", "a"), InObject: true, Object: "b", InMessage: true}, "", "null"},
	} {
		if field, _, _ := tc.difference.AddedMetadata(); field != tc.field || tc.difference.Old() != tc.old {
			t.Errorf("%v: field %q, signed as %q, want %q and %q", tc.difference.Path, field, tc.difference.Old(), tc.field, tc.old)
		}
	}
}

// TestDifferenceShowsWhatDiffers: the two values of a difference never look the same.
func TestDifferenceShowsWhatDiffers(t *testing.T) {
	long := strings.Repeat("x", 70)
	for _, tc := range []struct {
		signed, have any
		want         string
	}{
		{int64(100), 100.0, "a is 100.0, signed as 100"},
		{100.0, int64(100), "a is 100, signed as 100.0"},
		{int64(100), "100", `a is "100", signed as 100`},
		{1e21, "1e+21", `a is "1e+21", signed as 1e+21`},
		{long + "a", long + "b", `a is …"xxxxxxxxxxb", signed as …"xxxxxxxxxxa"`},
		{long, long + "b", `a is …"xxxxxxxxxxb", signed as …"xxxxxxxxxx"`},
	} {
		found := seal.Compare(fromObject(t, object{"a": tc.have}), fromObject(t, object{"a": tc.signed}), 2)
		expect.That(t, len(found) == 1 && found[0].String() == tc.want, "%v, want %q", found, tc.want)
	}
}

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
				expect.That(t, d.InMessage || d.InObject, "%s is nowhere", d.Path)
			}
		}
	})
}

// FuzzRead: annotations that Read accepts are the same after they are attached to the plain document and read again.
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
		must.That(t, len(s.Message) <= 1<<20 && len(s.Signatures) == 1 && len(s.Signatures[0].Signature) != 0,
			"a seal out of bounds: %d bytes, %d signatures", len(s.Message), len(s.Signatures))
		out := must.Get(seal.Attach(parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"), s))(t)
		again := must.Get(seal.Read(out))(t)
		expect.That(t, reflect.DeepEqual(s, again), "read %+v, and again %+v", s, again)
	})
}
