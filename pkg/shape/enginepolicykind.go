package shape

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// reachedKinds are the kinds that Kyverno looks up exceptions of
// policies.kyverno.io for, in this spelling.
var reachedKinds = []string{
	"ValidatingPolicy", "ImageValidatingPolicy", "MutatingPolicy", "GeneratingPolicy", "DeletingPolicy",
	"NamespacedValidatingPolicy", "NamespacedImageValidatingPolicy", "NamespacedMutatingPolicy", "NamespacedGeneratingPolicy", "NamespacedDeletingPolicy",
}

// ReasonUnknownPolicyKind is a reason of findings.
const ReasonUnknownPolicyKind = "unknown-policy-kind"

var unknownPolicyKindCheck = check{
	Title: "Unknown policy kind",
	About: `Finds a reference to a policy of a kind that no exception of its group reaches, such as
ClusterPolicy. Kyverno takes it and exempts nothing, and who asked for it learns of that
when the release is blocked.`,
	Reasons: []Reason{
		{ReasonUnknownPolicyKind, "no exception of this API group reaches policies of that kind", true},
	},
	Run: (*subject).unknownPolicyKind,
}

func (s *subject) unknownPolicyKind(time.Time) {
	if s.Exc.Identity.Group != exception.PoliciesGroup {
		return
	}
	for _, ref := range s.Exc.Policies {
		if ref.Kind == "" || wildcard.In(ref.Kind) || slices.Contains(reachedKinds, ref.Kind) {
			continue // an empty one is the schema's, a pattern is wildcardPolicy's
		}
		hint := "write one of " + strings.Join(reachedKinds, ", ")
		if ref.Kind == "ClusterPolicy" || ref.Kind == "Policy" {
			hint = fmt.Sprintf("write an exception of %s/v2 for a %s", exception.KyvernoGroup, ref.Kind)
		}
		s.refuse(ReasonUnknownPolicyKind, ref.Path.With("kind"), fmt.Sprintf("%q is no kind of policy that exceptions of %s reach", ref.Kind, exception.PoliciesGroup), hint)
	}
}
