package shape

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// ReasonUnknownPolicyKind is a reason of findings.
const ReasonUnknownPolicyKind = "unknown-policy-kind"

var unknownPolicyKindCheck = check{
	About: "Finds a reference to a kind of policy that exceptions of this API group do not apply to, such as " +
		"ClusterPolicy. Kyverno accepts the exception and exempts nothing. Its author notices that only when the " +
		"policy blocks a release.",
	Reasons: []Reason{{Name: ReasonUnknownPolicyKind, Doc: "exceptions of this API group do not apply to policies of that kind", Fixed: true}},
	Run:     (*subject).unknownPolicyKind,
}

func (s *subject) unknownPolicyKind() {
	for _, ref := range s.Refs {
		kind := ref.Kind.Text
		if kind == "" || wildcard.In(kind) || slices.Contains(kyverno.ConditionPolicyKinds, kind) {
			continue // an empty one is the schema's, a pattern is wildcardPolicy's
		}
		hint := "write one of " + strings.Join(kyverno.ConditionPolicyKinds, ", ")
		if kyverno.HasRules(kind) {
			hint = fmt.Sprintf("write an exception of %s for a %s", kyverno.APIVersion(kyverno.MatchKind), kind)
		}
		s.find(ReasonUnknownPolicyKind, ref.Kind.Path, fmt.Sprintf("exceptions of %s do not apply to policies of kind %q", ref.Group, kind), hint)
	}
}
