//go:build e2e

package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/kyverno/schema"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// keptAsWritten compares a sample with the object that the API server would store. If polex admits
// an exception, both must be equal: the guard compares them, and an attacker could use a silently
// dropped value. If polex rejects it because of a dropped value, they must differ.
func keptAsWritten(t *testing.T, v verdicts) {
	t.Helper()
	claimed := claimsADrop(v.ours)
	if v.real != "" || len(v.ours) > 0 && !claimed {
		return
	}
	written, err := exception.Parse(v.text, v.name)
	if err != nil {
		t.Fatalf("%s: %v", v.name, err)
	}
	kept, err := exception.Parse(v.kept, v.name)
	if err != nil {
		t.Fatalf("%s: the API server's answer: %v", v.name, err)
	}
	diff := cmp.Diff(authored(written), authored(kept))
	switch {
	case !claimed && diff != "":
		t.Errorf("%s: the API server would store something else (-written +stored):\n%s", v.name, diff)
	case claimed && diff == "":
		t.Errorf("%s: polex says that something is dropped, and nothing is: %v", v.name, v.ours)
	}
}

// authored returns an exception's tree without the API server's additions: the record of its
// creation, and the default of reportResult.
func authored(d *exception.Document) map[string]any {
	tree := d.Object()
	if metadata, isMapping := tree["metadata"].(map[string]any); isMapping {
		for _, added := range []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"} {
			delete(metadata, added)
		}
	}
	if spec, isMapping := tree["spec"].(map[string]any); isMapping && d.GroupKind().Group == exception.PoliciesGroup {
		if _, said := spec["reportResult"]; !said {
			spec["reportResult"] = "skip"
		}
	}
	return tree
}

// claimsADrop reports whether polex's only findings are dropped values.
func claimsADrop(found []shape.Finding) bool {
	for _, f := range found {
		dropped := f.Reason == schema.NullValue ||
			f.Reason == schema.EmptyValue && (f.Path.String() == "metadata.labels" || f.Path.String() == "metadata.annotations")
		if !dropped {
			return false
		}
	}
	return len(found) > 0
}
