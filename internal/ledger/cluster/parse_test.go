package cluster_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/ledger/cluster"
)

func TestParse(t *testing.T) {
	const item = `{"apiVersion": "kyverno.io/v2", "kind": "PolicyException", "metadata": {"name": "a", "namespace": "b"}}`
	for name, tc := range map[string]struct {
		text            string
		objects, broken int
		fails           bool
	}{
		"JSON":              {text: `{"apiVersion": "v1", "kind": "List", "items": [` + item + `]}`, objects: 1},
		"YAML":              {text: "apiVersion: v1\nkind: List\nitems:\n- apiVersion: kyverno.io/v2\n  kind: PolicyException\n  metadata: {name: a, namespace: b}\n", objects: 1},
		"a typed list":      {text: `{"kind": "PolicyExceptionList", "items": [` + item + `]}`, objects: 1},
		"no exceptions":     {text: `{"kind": "List", "items": []}`},
		"a broken object":   {text: `{"kind": "List", "items": [` + item + `, {"a": 1, "a": 2}]}`, objects: 1, broken: 1},
		"nothing":           {text: "\n", fails: true},
		"null items":        {text: `{"kind": "List", "items": null}`, fails: true},
		"a report":          {text: `{"kind": "PolicyReport", "results": []}`, fails: true},
		"a list of reports": {text: `{"kind": "List", "items": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}]}`, fails: true},
		"an exception":      {text: item, fails: true},
		"keys twice":        {text: "kind: List\nitems: []\nkind: List\n", fails: true},
		"no YAML":           {text: "kind: [", fails: true},
		"cut off":           {text: `{"kind": "List", "items": [`, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := cluster.Parse(strings.NewReader(tc.text), false)
			if (err != nil) != tc.fails {
				t.Fatal(err)
			}
			if err == nil && (len(c.Objects) != tc.objects || len(c.Unreadable) != tc.broken) {
				t.Errorf("%d objects, %q", len(c.Objects), c.Unreadable)
			}
		})
	}
}
