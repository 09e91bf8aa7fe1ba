package shape

import (
	"fmt"
	"slices"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

const reasonUnknownPolicy = "unknown-policy"

var unknownPolicyCheck = check{
	About: "Needs the policies (`directories.policies` or `--policies`). Finds an exception from a policy that does " +
		"not exist, or that has another kind than the exception says. Kyverno ignores such a name until " +
		"somebody adds a policy of that name, and nobody reviews the exception then.\n\n" +
		"If polex cannot read a file of policies, it reports only that error, and no `unknown-policy` or " +
		"`unknown-rule`.",
	Reasons: []Reason{{Name: reasonUnknownPolicy, Doc: "the policy does not exist"}},
	Run:     (*subject).unknownPolicy,
}

func (s *subject) unknownPolicy() {
	if s.config.Policies == nil || s.config.Policies.Incomplete {
		return
	}
	for _, ref := range s.Refs {
		name := ref.Name.Text
		if s.counts[Error.String()] >= maxFindings {
			return
		}
		if name == "" || wildcard.In(name) || len(s.config.Policies.Find(ref)) > 0 {
			continue // reported by the checks on the schema and on wildcards
		}
		if ref.Kind.Path != nil && !slices.Contains(kyverno.ConditionPolicyKinds, ref.Kind.Text) {
			continue // reported by the check on kinds
		}
		what := ref.Kind.Text
		if what == "" {
			what = "ClusterPolicy or Policy"
		}
		s.find(reasonUnknownPolicy, ref.Name.Path, fmt.Sprintf("no %s is named %q in the given policies", what, name),
			nearestPolicy(s.config.Policies, ref))
	}
}

// nearestPolicy returns a hint with the likely meaning of an unknown name.
func nearestPolicy(set *PolicySet, ref kyverno.Ref) string {
	for _, p := range set.Near(ref) {
		namespaced := p.Kind == "Policy"
		switch {
		case p.Group != ref.Group:
			return fmt.Sprintf("%q is a %s: write an exception of %s", p.Name, p.Kind, p.Group)
		case ref.Kind.Path != nil:
			return fmt.Sprintf("%q is a %s: write kind: %s", p.Name, p.Kind, p.Kind)
		case namespaced && p.Namespace == "":
			return fmt.Sprintf("%q is a Policy: write its namespace before its name, NAMESPACE/%s", p.Name, p.Name)
		case namespaced:
			return fmt.Sprintf("did you mean %q?", p.Namespace+"/"+p.Name)
		default:
			return fmt.Sprintf("%q is a ClusterPolicy: write its name alone", p.Name)
		}
	}
	if hint := exception.Nearest(ref.Name.Text, set.Names(ref.Group)); hint != "" {
		return hint
	}
	return "correct the name, or add the file of the policy to --policies or directories.policies"
}
