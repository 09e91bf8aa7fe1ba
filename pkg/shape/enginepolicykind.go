package shape

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// Reasons of findings.
const (
	ReasonUnknownPolicyKind = "unknown-policy-kind"
	reasonKeptByKyverno     = "kept-by-kyverno"
)

var unknownPolicyKindCheck = check{
	Title: "Kinds of policies",
	About: "Finds a reference to a kind of policy that exceptions of this API group do not apply to, such as " +
		"ClusterPolicy. Kyverno accepts the exception and exempts nothing. A policy of some namespaced kinds " +
		"is not computed again when an exception changes.",
	Reasons: []Reason{
		{Name: ReasonUnknownPolicyKind, Doc: "exceptions of this API group do not apply to policies of that kind",
			Fixed: true},
		{Name: reasonKeptByKyverno, Doc: "Kyverno still applies the exception after its expiry and deletion",
			Severity: Warning},
	},
	Run: (*subject).unknownPolicyKind,
}

func (s *subject) unknownPolicyKind() {
	for _, ref := range s.Refs {
		kind := ref.Kind.Text
		if ref.KeepsDeleted() {
			s.find(reasonKeptByKyverno, ref.Kind.Path, fmt.Sprintf("Kyverno 1.19 notices a new or a deleted exception "+
				"from a %s only when the policy itself changes, so this one lasts beyond its expiry", kind),
				"name a "+strings.TrimPrefix(kind, "Namespaced")+
					", or change the policy, or restart Kyverno, after the expiry")
		}
		if kind == "" || wildcard.In(kind) || slices.Contains(kyverno.ConditionPolicyKinds, kind) {
			continue // an empty one is the schema's, a pattern is wildcardPolicy's
		}
		hint := "write one of " + strings.Join(kyverno.ConditionPolicyKinds, ", ")
		if kyverno.HasRules(kind) {
			hint = fmt.Sprintf("write an exception of %s for a %s", kyverno.APIVersion(kyverno.MatchKind), kind)
		}
		s.find(ReasonUnknownPolicyKind, ref.Kind.Path,
			fmt.Sprintf("exceptions of %s do not apply to policies of kind %q", ref.Group, kind), hint)
	}
}
