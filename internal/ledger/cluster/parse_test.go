package cluster_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/ledger/cluster"
	"github.com/polex-dev/polex/pkg/exception"
)

func TestParse(t *testing.T) {
	const item = `{"apiVersion": "kyverno.io/v2", "kind": "PolicyException", "metadata": {"name": "a", "namespace": "b"}}`
	for name, tc := range map[string]struct {
		text            string
		objects, broken int
		fails           bool
	}{
		"JSON":                  {text: `{"apiVersion": "v1", "kind": "List", "items": [` + item + `]}`, objects: 1},
		"YAML":                  {text: "apiVersion: v1\nkind: List\nitems:\n- apiVersion: kyverno.io/v2\n  kind: PolicyException\n  metadata: {name: a, namespace: b}\n", objects: 1},
		"other YAML":            {text: "kind: List\nitems: [{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {name: a, namespace: b}}]\n", objects: 1},
		"indented YAML":         {text: "kind: List\nitems:\n  - apiVersion: kyverno.io/v2\n    kind: PolicyException\n    metadata: {name: a, namespace: b}\n", objects: 1},
		"kubectl's YAML":        {text: "apiVersion: v1\nitems:\n- apiVersion: kyverno.io/v2\n  kind: PolicyException\n  metadata:\n    name: a\n    namespace: b\n\n- apiVersion: v1\n  kind: Pod\n- apiVersion: kyverno.io/v2\n  kind: PolicyException\n  metadata: {name: b, namespace: b}\nkind: List\nmetadata:\n  resourceVersion: \"\"\n", objects: 2},
		"two documents":         {text: "kind: List\nitems:\n- " + item + "\n---\nkind: List\nitems: []\n", fails: true},
		"more documents":        {text: "kind: List\nitems:\n- " + item + "\n...\n---\nkind: List\nitems: []\n", fails: true},
		"a document in an item": {text: "kind: List\nitems:\n- " + item + "\n ---\n  a: b\n", fails: true},
		"a key in capitals":     {text: `{"kind": "List", "items": [` + strings.Replace(item, `"metadata"`, `"KIND": "Pod", "metadata"`, 1) + `]}`, objects: 1},
		"items twice":           {text: "kind: List\nitems:\n- " + item + "\nitems:\n- " + item + "\n", fails: true},
		"JSON keys twice":       {text: `{"kind": "List", "items": [], "items": [` + item + `]}`, fails: true},
		"JSON and more":         {text: `{"kind": "List", "items": []} {"kind": "List"}`, fails: true},
		"items of one":          {text: `{"kind": "List", "items": ` + item + `}`, fails: true},
		"a typed list":          {text: `{"kind": "PolicyExceptionList", "items": [` + item + `]}`, objects: 1},
		"no exceptions":         {text: `{"kind": "List", "items": []}`},
		"a broken object":       {text: `{"kind": "List", "items": [` + item + `, {"a": 1, "a": 2}]}`, objects: 1, broken: 1},
		"nothing":               {text: "\n", fails: true},
		"null items":            {text: `{"kind": "List", "items": null}`, fails: true},
		"a report":              {text: `{"kind": "PolicyReport", "results": []}`, fails: true},
		"a list of reports":     {text: `{"kind": "List", "items": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}]}`, fails: true},
		"an exception":          {text: item, fails: true},
		"keys twice":            {text: "kind: List\nitems: []\nkind: List\n", fails: true},
		"no YAML":               {text: "kind: [", fails: true},
		"cut off":               {text: `{"kind": "List", "items": [`, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			objects := 0
			c, err := cluster.Parse(strings.NewReader(tc.text), false, func(*exception.Document) error {
				objects++
				return nil
			})
			if (err != nil) != tc.fails {
				t.Fatal(err)
			}
			if err == nil && (objects != tc.objects || len(c.Unreadable) != tc.broken) {
				t.Errorf("%d objects, %q", objects, c.Unreadable)
			}
		})
	}
}
