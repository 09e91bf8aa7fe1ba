package witness

import (
	"fmt"

	"github.com/polex-dev/polex/pkg/shape/internal/expression"
)

func trialOf(text string) (*Trial, error) {
	l, err := expression.ForConditions()
	if err != nil {
		return nil, err
	}
	c := l.Compile(text, expression.NewCompiling())
	return New([]*expression.Condition{c}), c.Problem
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
