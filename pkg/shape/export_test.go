package shape

import (
	"fmt"

	"github.com/polex-dev/polex/pkg/shape/internal/expression"
)

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
func Steps(text string) (value any, taken int, err error) {
	t, err := trialOf(text)
	if err != nil {
		return nil, 0, err
	}
	t.facts = t.inClass(class{operation: "CREATE", requester: byUser, scope: namespaced, labelled: withLabels}, 0, knownSpecies[namespaced][0])
	v, taken, err := t.conditions[0].Program.Eval(t.scene)
	if err != nil {
		return nil, taken, err
	}
	return v.Value(), taken, nil
}

func trialOf(text string) (*trial, error) {
	l, err := expression.ForConditions()
	if err != nil {
		return nil, err
	}
	c := l.Compile(text, expression.NewCompiling())
	return newTrial([]*expression.Condition{c}), c.Problem
}

// CheckAnswers tries a condition on requests of every class, once with the answers
// that are kept and once without, and tells the first that differs. It returns how
// many evaluations were saved.
func CheckAnswers(text string) (saved int, err error) {
	kept, err := trialOf(text)
	if err != nil {
		return 0, err
	}
	fresh, err := trialOf(text)
	if err != nil {
		return 0, err
	}
	for _, kind := range append([]string{"", "Namespace", "PolicyException"}, kept.allKinds()...) {
		for c := range classes(kind) {
			for nth := range persons {
				is := kept.ofClass(c, nth)
				if is == nil {
					continue
				}
				fresh.answers, fresh.left = nil, trialSteps
				before := len(kept.answers)
				about := kept.inClass(c, nth, is)
				fresh.unheardOf, fresh.names = kept.unheardOf, kept.names
				if got, want := kept.holds(about), fresh.holds(about); got != want {
					return 0, fmt.Errorf("%+v of person %d: %t, and on its own %t", c, nth, got, want)
				}
				if len(kept.answers) == before {
					saved++
				}
			}
		}
	}
	return saved, nil
}
