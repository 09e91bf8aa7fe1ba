package shape

import (
	"fmt"
	"slices"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonMayFail is a reason of findings.
const ReasonMayFail = "may-fail"

var mayFailCheck = check{
	About: "Finds a match condition that reads a label, an annotation or a field that not every object has, or an " +
		"object that not every operation has. Kyverno then denies objects that obey the policy.",
	Reasons: []Reason{{Name: ReasonMayFail, Doc: "a match condition is an error for other objects", Severity: Warning}},
	Run:     (*subject).mayFail,
}

func (s *subject) mayFail() {
	if s.counts[ReasonReachesGuard] > 0 || s.isFound(ReasonNeverMatches, s.whereConditions()) {
		return
	}
	var targets []kyverno.Target
	if s.config.Policies != nil {
		for _, ref := range s.Refs {
			for _, p := range s.config.Policies.Find(ref) {
				targets = append(targets, p.Targets(wildcard.NewMeter(), nil)...)
			}
		}
	}
	message, hint := s.MayFail(targets)
	ignored := func(kind string) bool { return kind == "DeletingPolicy" || kind == "NamespacedDeletingPolicy" }
	if message != "" && !slices.ContainsFunc(s.PolicyKinds(), ignored) {
		s.find(ReasonMayFail, s.whereConditions(), message+", and Kyverno then denies objects that obey the policy",
			hint)
	}
}

const reasonWider = "wider-than-written"

var widerCheck = check{
	About: "Finds what exempts more than it says. `&&` binds stronger than `||`, so an alternative may have no " +
		"namespace. A pattern may be read as a regular expression. Kyverno ignores an empty list, `operations` in " +
		"a filter, and `images` in an exception from an ImageValidatingPolicy or DeletingPolicy: the whole resource " +
		"is exempt, or after Kyverno 1.19.0 no image.",
	Reasons: []Reason{{Name: reasonWider, Doc: "the exception exempts more than it says", Severity: Warning}},
	Run:     (*subject).wider,
}

func (s *subject) wider() {
	for _, f := range s.Match.Filters() {
		if len(f.Operations) > 0 {
			s.find(reasonWider, f.Path.With("resources").With("operations"),
				"Kyverno ignores operations in an exception: this one holds for every operation", "remove operations")
		}
		for _, field := range []string{"names", "namespaces"} { // no kinds are missing-kinds
			s.empty(f.Path.With("resources").With(field))
		}
	}
	s.empty(exception.Path{"spec", "images"})
	s.empty(exception.Path{"spec", "allowedValues"})
	for _, ref := range s.WholeRefs() {
		effect, hint := "the whole resource", "remove this policy from the exception"
		if kyverno.VerifiesImages(ref.Kind.Text) {
			effect = "the whole Pod up to 1.19.0, and nothing in later releases"
			hint += ", or use matchImageReferences of the policy"
		}
		s.find(reasonWider, ref.Path, fmt.Sprintf("the %s %q does not read images and allowedValues of exceptions: "+
			"Kyverno exempts %s", ref.Kind.Text, ref.Name.Text, effect), hint)
	}
}

// empty reports a list without entries, which restricts nothing.
func (s *subject) empty(path exception.Path) {
	if value, _ := s.Doc.Lookup(path...); value != nil {
		if list, is := value.([]any); is && len(list) == 0 {
			s.find(reasonWider, path, "an empty list restricts nothing: Kyverno ignores it",
				"fill the list, or remove it")
		}
	}
}
