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

// Steps evaluates a condition on a made-up resource that is created, and returns
// what it came to and how many steps that took.
func Steps(expression string) (value any, taken int, err error) {
	t, err := trialOf(expression)
	if err != nil {
		return nil, 0, err
	}
	c := class{operation: "CREATE", requester: byUser, scope: namespaced, labelled: withLabels}
	v, taken, err := t.conditions[0].program.eval(situation{t.dress(wellKnown(namespaced)[0], c), t.request(c)})
	if err != nil {
		return nil, taken, err
	}
	return v.Value(), taken, nil
}

func trialOf(expression string) (*trial, error) {
	l, err := conditionLanguage()
	if err != nil {
		return nil, err
	}
	c := []condition{{located: located{text: expression}}}
	l.compile(&c[0], newCompiling())
	return newTrial(c), c[0].problem
}
