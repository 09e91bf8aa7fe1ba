package shape

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonNeverMatches is a reason of findings.
const ReasonNeverMatches = "never-matches"

var neverMatchesCheck = check{
	Title: "Effect",
	About: "Finds an exception, or a part of one, that has no effect in Kyverno:\n\n" +
		"- A filter contradicts itself, lists namespaces for a kind without one, or names that no resource has.\n" +
		"- With `--policies`: no named rule is about the kinds, names or namespaces of the filter. A rule " +
		"about `Pod/exec` is not about Pods, and a Policy is about its own namespace.\n" +
		"- A match condition compares a name with a pattern, a bool with a text, or reads a field that objects do " +
		"not have.\n" +
		"- `spec.conditions` reads a variable that does not exist, a key without braces, an operation in lower case, " +
		"or the sender in background scans.\n" +
		"- No named rule checks the control or field of `podSecurity`, or no policy reads `images` or " +
		"`allowedValues`.",
	Reasons: []Reason{{Name: ReasonNeverMatches, Doc: "the exception, or a part of it, can have no effect",
		Milder: true}},
	Run: (*subject).neverMatches,
}

func (s *subject) neverMatches() {
	s.mistakes()
	if len(s.Unread) > 0 || s.counts[ReasonReachesGuard] > 0 {
		return // it is not known how Kyverno reads it, or it is refused anyway
	}
	if problem := s.PreconditionProblem(s.isSetByRules); problem != nil {
		s.find(ReasonNeverMatches, problem.Path, problem.Message, problem.Hint)
	}
	work := wildcard.NewMeter()
	all := s.Alternatives(work)
	alternatives := slices.DeleteFunc(slices.Clone(all), func(filters []kyverno.Filter) bool {
		return kyverno.Contradiction(work, filters) != nil
	})
	for _, filters := range all {
		// A condition may have cases that are not for this policy.
		if miss := kyverno.Contradiction(work, filters); miss != nil && (s.ByMatch || len(alternatives) == 0) {
			s.misses(&lack{miss, "the match"}, nil)
		}
	}
	if s.config.Policies == nil || s.config.Policies.Incomplete || len(alternatives) == 0 {
		return
	}
	s.operations = s.Operations()
	targets := make([][]kyverno.Target, len(s.Refs))
	known := true
	for i, ref := range s.Refs {
		for _, p := range s.config.Policies.Reached(ref) {
			targets[i] = append(targets[i], p.Targets(work, ref.RuleNames())...)
		}
		known = known && len(targets[i]) > 0 // others are unknown-policy or unknown-rule
	}
	s.withoutTarget(work, alternatives, targets, known)
	s.uselessParts()
}

// mistakes reports probable misspellings in match conditions. Only if the kinds may be those of
// Kubernetes, its fields tell.
func (s *subject) mistakes() {
	custom := slices.ContainsFunc(slices.Concat(s.Alternatives(wildcard.NewMeter())...), func(f kyverno.Filter) bool {
		return slices.ContainsFunc(f.Kinds, func(k kyverno.Located) bool {
			return !isListed(builtinKinds, kyverno.ParseKind(k.Text).Kind)
		})
	})
	for _, c := range s.conditions() {
		for _, m := range kyverno.Mistakes(c.Text) {
			switch {
			case c.Problem != nil: // for another check
			case m.IsWider:
				s.find(reasonWider, c.path, m.Message, m.Hint)
			case m.IsSure:
				s.find(ReasonNeverMatches, c.path, m.Message, m.Hint)
			case !custom:
				s.warn(ReasonNeverMatches, c.path, m.Message, m.Hint)
			}
		}
	}
}

// isSetByRules reports whether a rule that the exception names sets a variable, or may set it.
func (s *subject) isSetByRules(variable string) bool {
	if s.config.Policies == nil || s.config.Policies.Incomplete {
		return true
	}
	return slices.ContainsFunc(s.Refs, func(ref kyverno.Ref) bool {
		policies := s.config.Policies.Find(ref)
		return len(policies) == 0 || slices.ContainsFunc(policies, func(p *kyverno.Policy) bool {
			return slices.ContainsFunc(p.Rules,
				func(r kyverno.Rule) bool { return slices.Contains(r.Context, variable) })
		})
	})
}

// lack is the reason why no target of a policy is about an alternative.
type lack struct {
	miss *kyverno.Miss
	by   string
}

// lacks returns nil if a target may be about what the filters match, or if there is no target.
func (s *subject) lacks(work *wildcard.Meter, targets []kyverno.Target, filters []kyverno.Filter) (first *lack) {
	for i := range targets {
		miss, need, has := targets[i].Misses(work, filters), s.operations, targets[i].Operations
		if miss == nil && len(need) > 0 && len(has) > 0 &&
			!slices.ContainsFunc(need, func(one string) bool { return slices.Contains(has, one) }) {
			miss = &kyverno.Miss{Field: "operations", Side: [2][]string{need, has}}
		}
		if miss == nil || work.Spent() {
			return nil
		}
		first = cmp.Or(first, &lack{miss, targets[i].Describe()})
	}
	return first
}

// withoutTarget reports the alternatives that no target is about, and the policies of which no rule
// is about an alternative. known means that every policy has targets.
func (s *subject) withoutTarget(work *wildcard.Meter, alternatives [][]kyverno.Filter, all [][]kyverno.Target,
	known bool) {
	alive, lacking := make([]bool, len(all)), make([]*lack, len(all)) // by policy
	for _, filters := range alternatives {
		var why *lack
		matched := false
		for i, targets := range all {
			one := s.lacks(work, targets, filters)
			if one == nil {
				alive[i] = true
				matched = matched || len(targets) > 0
				continue
			}
			lacking[i], why = cmp.Or(lacking[i], one), cmp.Or(why, one)
		}
		if !matched && known && why != nil && s.ByMatch {
			s.misses(why, s.otherRules(work, filters))
		}
	}
	if first := slices.IndexFunc(lacking, func(l *lack) bool { return l != nil }); !s.ByMatch && known && first >= 0 &&
		!slices.Contains(alive, true) {
		s.misses(lacking[first], nil)
	}
	if !slices.Contains(alive, true) {
		return // the alternatives are reported
	}
	for i, ref := range s.Refs {
		if !alive[i] && lacking[i] != nil {
			s.find(ReasonNeverMatches, ref.Path, lacking[i].text(),
				"remove this policy from the exception, or match what its rule is about")
		}
	}
}

// otherRules returns the names of the rules that Kyverno makes of the named ones, or that these are made
// of, and that are about what the filters match.
func (s *subject) otherRules(work *wildcard.Meter, filters []kyverno.Filter) (names []string) {
	for _, ref := range s.Refs {
		for _, p := range s.config.Policies.Find(ref) {
			for _, r := range p.Rules {
				if !r.NamedBy(work, ref.RuleNames()) {
					continue
				}
				for _, t := range p.Targets(work, slices.Sorted(maps.Keys(r.Forms()))) {
					if t.Misses(work, filters) == nil && len(names) < maxListed {
						names = append(names, t.Rule)
					}
				}
			}
		}
	}
	return names
}

// misses reports the reason why an alternative matches nothing, with rules that it would match.
func (s *subject) misses(why *lack, others []string) {
	at, path := why.miss.At, s.ScopePath
	switch field := strings.TrimPrefix(why.miss.Field, "impossible "); {
	case !s.ByMatch:
		path = s.whereConditions()
	case len(at.Path) == 0:
	case field == "scope":
		path = at.Path.With("resources").With("namespaces")
	default:
		path = at.Path.With("resources").With(field)
	}
	hint := why.hint()
	if !s.ByMatch {
		hint = strings.Replace(hint, "name a rule", "name a policy", 1)
	}
	if len(others) > 0 {
		hint = "add " + shortList(others) + " to ruleNames"
	}
	s.find(ReasonNeverMatches, path, why.text(), hint)
}

// text says which side requires what.
func (l *lack) text() string {
	mine, theirs := shortList(l.miss.Side[0]), shortList(l.miss.Side[1])
	switch what := l.miss.Field; what {
	case "scope":
		return fmt.Sprintf("a %s is in no namespace, so it is never in %s", l.miss.Side[0][0], theirs)
	case "impossible names", "impossible namespaces":
		return fmt.Sprintf("no resource has one of the %s %s", strings.TrimPrefix(what, "impossible "), mine)
	case "kinds":
		return fmt.Sprintf("%s is about %s, and the exception about %s", l.by, theirs, mine)
	default:
		return fmt.Sprintf("%s is about the %s %s, and the exception about %s", l.by, what, theirs, mine)
	}
}

func (l *lack) hint() string {
	switch l.miss.Field {
	case "scope":
		return "remove namespaces, or name a kind that has one"
	case "impossible names", "impossible namespaces":
		return "write " + strings.TrimPrefix(l.miss.Field, "impossible ") + " as in the cluster: lower-case " +
			"letters, digits and dashes, no variables, and one name in each entry"
	case "kinds":
		for _, theirs := range l.miss.Side[1] {
			kind := kyverno.ParseKind(theirs)
			if slices.ContainsFunc(l.miss.Side[0], func(mine string) bool {
				other := kyverno.ParseKind(mine)
				return other.Kind == kind.Kind && other.Subresource == kind.Subresource
			}) {
				return fmt.Sprintf("write %q", theirs)
			}
		}
	}
	return "name a rule about this, or change " + l.miss.Field + " to what that is about"
}

// maxListed is the maximum number of texts in a message.
const maxListed = 5

func shortList(texts []string) string {
	var few []string
	more := 0
	for _, text := range texts {
		switch {
		case slices.Contains(few, text):
		case len(few) < maxListed:
			few = append(few, text)
		default:
			more++
		}
	}
	if more > 0 {
		return quoted(few) + fmt.Sprintf(" and %d more", more)
	}
	return quoted(few)
}

// uselessParts reports parts of an exception that none of its policies reads.
func (s *subject) uselessParts() {
	work := wildcard.NewMeter()
	var baseline, more, images, values, unknown bool
	var idle []kyverno.Ref // their policies read none of the listed parts
	for _, ref := range s.Refs {
		policies := s.config.Policies.Find(ref)
		unknown = unknown || len(policies) == 0
		if s.OnlyValues() && !slices.ContainsFunc(policies, func(p *kyverno.Policy) bool {
			return p.ReadsImages && len(s.Images) > 0 || p.ReadsValues && len(s.AllowedValues) > 0
		}) {
			idle = append(idle, ref)
		}
		for _, p := range policies {
			images, values = images || p.ReadsImages, values || p.ReadsValues
			for _, r := range p.Rules {
				if r.PodSecurity && r.NamedBy(work, ref.RuleNames()) {
					baseline, more = baseline || r.Baseline, more || !r.Baseline
				}
			}
		}
	}
	if unknown || work.Spent() {
		return
	}
	for _, control := range s.PodSecurity {
		if why := control.Unchecked(baseline && !more); why != "" && (baseline || more) {
			s.find(ReasonNeverMatches, control.Path, why, "remove the entry, or name what the rule checks")
		}
	}
	for _, part := range []struct {
		field string
		texts []kyverno.Located
		reads bool
	}{{"images", s.Images, images}, {"allowedValues", s.AllowedValues, values}} {
		if len(part.texts) > 0 && !part.reads && s.OnlyValues() {
			s.find(ReasonNeverMatches, exception.Path{"spec", part.field},
				fmt.Sprintf("no expression of the policy reads the %s of exceptions, so this exception changes nothing",
					part.field), "remove "+part.field+" to exempt the whole resource, or change the policy")
		}
	}
	for _, ref := range idle {
		if len(idle) < len(s.Refs) { // otherwise the field is reported
			s.find(ReasonNeverMatches, ref.Path, fmt.Sprintf("no expression of the policy %q reads the images or "+
				"allowedValues of exceptions, so this exception changes nothing for it", ref.Name.Text),
				"remove this policy from the exception, or change the policy")
		}
	}
}
