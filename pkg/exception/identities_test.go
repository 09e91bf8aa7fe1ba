package exception_test

import (
	"fmt"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
)

// TestIdentities: objects are distinguished by all parts of their identity, without ambiguous
// boundaries, and by nothing else.
func TestIdentities(t *testing.T) {
	var met exception.Identities
	for i, tc := range []struct {
		apiVersion, kind, namespace, name string
		first                             string
	}{
		{"a.b/v1", "Kind", "space", "name", ""},
		{"a.b/v2", "Kind", "space", "name", "0.yaml:1:1"},
		{"a/v1", "Kind", "space", "name", ""},
		{"a.b/v1", "Kin", "dspace", "name", ""},
		{"a.b/v1", "Kind", "spac", "ename", ""},
		{"a.b/v1", "Kind", "", "spacename", ""},
		{"a.b/v1", "Kind", "space", "Name", ""},
		{"v1", "Kind", "space", "name", ""},
		{"v2", "Kind", "space", "name", "7.yaml:1:1"},
	} {
		source := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {namespace: %q, name: %q}\n", tc.apiVersion, tc.kind, tc.namespace, tc.name)
		d := expect.Value(exception.Parse([]byte(source), fmt.Sprintf("%d.yaml", i)))(t)
		if first, again := met.Add(d); again != (tc.first != "") || first.String() != tc.first {
			t.Errorf("%d: %s, %v", i, first, again)
		}
	}
}
