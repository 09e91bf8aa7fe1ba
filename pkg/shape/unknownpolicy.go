package shape

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonUnknownPolicy is a reason of findings.
const ReasonUnknownPolicy = "unknown-policy"

var unknownPolicyCheck = check{
	Title: "Unknown policy",
	About: `Finds an exception from a policy that does not exist, or that exists as another kind than
the exception says. Kyverno passes over such a name in silence: the exception does nothing
until somebody adds a policy of that name, and nobody will look at it then.`,
	Reasons: []Reason{
		{ReasonUnknownPolicy, "there is no such policy", false},
	},
	Run: (*subject).unknownPolicy,
}

func (s *subject) unknownPolicy(time.Time) {
	if s.config.Policies == nil {
		return
	}
	group := s.Exc.Identity.Group
	for _, ref := range s.Exc.Policies {
		if s.counts[Error.String()] >= maxFindings {
			return
		}
		if ref.Name == "" || wildcard.In(ref.Name) || len(s.config.Policies.find(group, ref)) > 0 {
			continue // said by the checks on the schema and on wildcards
		}
		if group == exception.PoliciesGroup && !slices.Contains(policyKinds[group], ref.Kind) {
			continue // said by the check on kinds
		}
		what := ref.Kind
		if group == exception.KyvernoGroup {
			what = "ClusterPolicy or Policy"
		}
		s.refuse(ReasonUnknownPolicy, ref.Path.With(s.policyField()), fmt.Sprintf("there is no %s %q among the policies", what, ref.Name), s.config.Policies.hint(group, ref))
	}
}

// hint says what an unknown name is likely to mean.
func (set *PolicySet) hint(group string, ref exception.PolicyRef) string {
	for _, p := range set.named[ref.Name[strings.LastIndex(ref.Name, "/")+1:]] {
		namespaced := p.Group == exception.KyvernoGroup && p.Kind == "Policy"
		switch {
		case p.Group != group:
			return fmt.Sprintf("%q is a %s: write an exception of %s", p.Name, p.Kind, p.Group)
		case p.Group == exception.PoliciesGroup:
			return fmt.Sprintf("%q is a %s: write kind: %s", p.Name, p.Kind, p.Kind)
		case namespaced && p.Namespace == "":
			return fmt.Sprintf("%q is a Policy: write its namespace before it, namespace/%s", p.Name, p.Name)
		case namespaced:
			return fmt.Sprintf("did you mean %q?", p.Namespace+"/"+p.Name)
		default:
			return fmt.Sprintf("%q is a ClusterPolicy: write its name alone", p.Name)
		}
	}
	if hint := exception.Nearest(ref.Name, set.names[group]); hint != "" {
		return hint
	}
	return "check the name, and whether the policies given are all of them"
}
