//go:build e2e

package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// keptAsWritten holds polex against what the API server would store. Of an
// exception that polex admits, that is what was written: a seal compares the
// two, and what is dropped without a word is what an attacker writes. Of one
// that polex refuses because something would be dropped, it is not.
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

// authored is an exception's tree without what the API server adds to it: the
// record of its creation, and the default of reportResult.
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

// claimsADrop reports whether all that polex says is that a value is dropped.
func claimsADrop(found []shape.Finding) bool {
	for _, f := range found {
		dropped := f.Reason == exception.ProblemNullValue ||
			f.Reason == exception.ProblemEmptyValue && (f.Path.String() == "metadata.labels" || f.Path.String() == "metadata.annotations")
		if !dropped {
			return false
		}
	}
	return len(found) > 0
}
