package shape

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Reasons of findings.
const (
	reasonUnknownKind   = "unknown-kind"
	reasonUnknownPolicy = "unknown-policy"
	reasonUnknownRule   = "unknown-rule"
)

var unknownPolicyCheck = check{
	About: "Needs the policies (`directories.policies` or `--policies`). Finds an exception from a policy that does " +
		"not exist, or that has another kind than the exception says. Kyverno ignores such a name until " +
		"somebody adds a policy of that name, and nobody reviews the exception then.\n\n" +
		"If polex cannot read a file of policies, it reports only that error, and no `unknown-policy` or " +
		"`unknown-rule`.",
	Reasons: []Reason{{Name: reasonUnknownPolicy, Doc: "the policy does not exist"}},
	Run: func(s *subject) {
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
			s.find(reasonUnknownPolicy, ref.Name.Path, nearestPolicy(s.config.Policies, ref),
				"no %s is named %q in the given policies", what, name)
		}
	},
}

// nearestPolicy returns a hint with the likely meaning of an unknown name.
func nearestPolicy(set *PolicySet, ref kyverno.Ref) string {
	for _, p := range set.Near(ref) {
		switch found := fmt.Sprintf("%q is a %s: write ", p.Name, p.Kind); {
		case p.Group != ref.Group:
			return found + "an exception of " + p.Group
		case ref.Kind.Path != nil:
			return found + "kind: " + p.Kind
		case p.Kind == "Policy" && p.Namespace == "":
			return found + "its namespace before its name, NAMESPACE/" + p.Name
		case p.Kind == "Policy":
			return fmt.Sprintf("did you mean %q?", p.Namespace+"/"+p.Name)
		default:
			return found + "its name alone"
		}
	}
	return cmp.Or(exception.Nearest(ref.Name.Text, set.Names(ref.Group)),
		"correct the name, or add the file of the policy to --policies or directories.policies")
}

var unknownRuleCheck = check{
	About: "Finds a rule name or pattern that the policy does not have. The rules that Kyverno generates for Pod " +
		"controllers count as rules of the policy. The name has no effect today, and covers any rule that gets " +
		"this name later.",
	Reasons: []Reason{{Name: reasonUnknownRule, Doc: "the policy does not have this rule"}},
	Run: func(s *subject) {
		if s.config.Policies == nil || s.config.Policies.Incomplete {
			return
		}
		work := wildcard.NewMeter()
		met := map[string][]string{} // an exception can name one policy many times
		for _, ref := range s.Refs {
			names, again := met[ref.Name.Text]
			if !again {
				names = kyverno.RuleNames(s.config.Policies.Find(ref))
				met[ref.Name.Text] = names
			}
			if names == nil {
				continue // reported by the check on policies
			}
			for _, rule := range ref.Rules {
				if s.counts[Error.String()] >= maxFindings {
					return
				}
				if isListed(names, rule.Text) || wildcard.In(rule.Text) &&
					slices.ContainsFunc(names, func(name string) bool { return work.Fits(rule.Text, name) }) {
					continue
				}
				s.find(reasonUnknownRule, rule.Path, nearestRule(names, rule.Text), "the policy %q has no rule %q",
					ref.Name.Text, rule.Text)
			}
		}
	},
}

func isListed(sorted []string, name string) bool {
	_, is := slices.BinarySearch(sorted, name)
	return is
}

// maxNamedRules is the maximum number of rules that a hint lists.
const maxNamedRules = 5

// nearestRule returns a hint with the likely meaning of an unknown name.
func nearestRule(names []string, text string) string {
	for _, prefix := range []string{kyverno.AutogenCronJobPrefix, kyverno.AutogenPrefix} {
		if base, made := strings.CutPrefix(text, prefix); made && isListed(names, base) {
			return fmt.Sprintf("Kyverno generates no such rule from %q: remove this name", base)
		}
	}
	return cmp.Or(exception.Nearest(text, names), strings.TrimSuffix("name a rule of the policy: "+
		strings.Join(names[:min(len(names), maxNamedRules)], ", "), ": "))
}

var unknownKindCheck = check{
	About: "Finds a kind that is probably misspelt: in lower case, in the plural, of another group or version, or " +
		"within one letter of a kind of Kubernetes or of the policies. Such an exception has no effect.",
	Reasons: []Reason{{Name: reasonUnknownKind, Doc: "the kind looks like another one, misspelt", Severity: Warning}},
	Run: func(s *subject) {
		if s.counts[ReasonReachesGuard] > 0 {
			return
		}
		var custom []string
		if s.config.Policies != nil {
			custom = s.config.Policies.Kinds()
		}
		left := maxUnknownKinds
		for _, kind := range s.kinds() {
			selector, path := kyverno.ParseKind(kind.Text), kind.Path
			text := selector.Kind
			if served := manifest.Served(selector.Group, selector.Version, text); served != "" && s.ByMatch &&
				!s.isFound(ReasonNeverMatches, path) {
				s.find(reasonUnknownKind, path, fmt.Sprintf("write %q", served), "Kubernetes does not serve %s as %q",
					text, kind.Text)
			}
			if wildcard.In(text) || isListed(builtinKinds, text) || isListed(custom, text) ||
				strings.Contains(selector.Group, ".") && !strings.HasSuffix(selector.Group, ".k8s.io") ||
				slices.Contains(likeOthers, text) {
				continue
			}
			if left--; left < 0 {
				return
			}
			if !s.ByMatch {
				path = s.whereConditions()
			}
			if meant := meantKind(text, slices.Concat(custom, builtinKinds)); meant != "" {
				s.find(reasonUnknownKind, path, fmt.Sprintf("write %q, if you mean that", meant),
					"%q is no kind of Kubernetes, and is like %q", text, meant)
			}
		}
	},
}

// builtinKinds are the kinds of Kubernetes, sorted.
var builtinKinds = manifest.Kinds()

// likeOthers are well-known kinds of custom resources within one letter of one of Kubernetes.
var likeOthers = []string{"CNINode", "Endpoint"}

// maxUnknownKinds is the maximum number of kinds that the check compares: each with all known ones.
const maxUnknownKinds = 32

// kinds returns the kinds that the match or the conditions name.
func (s *subject) kinds() (kinds []kyverno.Located) {
	for _, f := range slices.Concat(s.Alternatives(wildcard.NewMeter())...) {
		kinds = append(kinds, f.Kinds...)
	}
	return kinds
}

// meantKind returns the known kind that a text probably means, or "".
func meantKind(text string, known []string) string {
	const shortest = 5 // of a name in which one letter is a mistake and not another name
	for _, kind := range known {
		if strings.EqualFold(text, kind) || strings.EqualFold(text, manifest.Plural(kind)) {
			return kind
		}
	}
	for _, kind := range known {
		if len(kind) >= shortest && exception.Edits(text, kind, 2) < 2 {
			return kind
		}
	}
	return ""
}
