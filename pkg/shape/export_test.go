package shape

// RuleNames returns the rules of every policy of the set, those included that
// Kyverno makes.
func (set *PolicySet) RuleNames() []string {
	var all []*policy
	for _, named := range set.named {
		all = append(all, named...)
	}
	return ruleNames(all)
}

// Checks are those that docs/checks.md is made of.
var Checks = checks
