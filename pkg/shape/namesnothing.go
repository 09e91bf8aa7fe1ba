package shape

// ReasonNamesNothing is a reason of findings.
const ReasonNamesNothing = "names-nothing"

var namesNothingCheck = check{
	About: "Finds an empty list of policies, or a policy with an empty list of rules. Such an exception exempts " +
		"nothing and looks harmless in a review, until a later change of one word fills the list.",
	Reasons: []Reason{{Name: ReasonNamesNothing, Doc: "the exception names no policy or no rule"}},
	Run:     (*subject).namesNothing,
}

func (s *subject) namesNothing() {
	if s.Refs != nil && len(s.Refs) == 0 {
		s.find(ReasonNamesNothing, s.RefsPath, "the exception names no policy", "add a policy, or remove the exception")
	}
	for _, ref := range s.Refs {
		if ref.Rules != nil && len(ref.Rules) == 0 {
			s.find(ReasonNamesNothing, ref.RulesPath(), "the exception names no rule of the policy",
				"list the rules, and the autogen- rules for Pod controllers")
		}
	}
}
