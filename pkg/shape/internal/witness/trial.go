package witness

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/polex-dev/polex/pkg/shape/internal/expression"
)

// Trial tries the conditions of an exception on made-up requests. Conditions are
// joined by "and"; one that cannot be evaluated on a resource is not true of
// it, as for Kyverno, where it is an error.
type Trial struct {
	*scene
	conditions []*expression.Condition
	kinds      []string // that the conditions speak of
	words      []word   // likewise
	persons    [persons]person
	met        map[string]*species
	unheardOf  [persons]*species
	answers    []answer
	left       int // steps that may still be taken
	// Exhausted is a condition that costs too much to be tried, or nil.
	Exhausted *expression.Condition
}

// person is one of several who have nothing in common: what is said of all of them
// says nothing.
type person struct {
	name, namespace, dress word
	user, account          word // the first of those that make a sender's name
}

// persons is how many there are: as many as there are unlike kinds in a class. Of
// one kind, some will do.
const (
	persons = 4
	alike   = 3
)

// trialSteps bounds what all evaluations for one exception may take together.
// It leaves room for a list of names as long as a condition can be.
const trialSteps = 2_000_000

// New returns nil when there is nothing to try.
func New(conditions []*expression.Condition) *Trial {
	for _, c := range conditions {
		if c.Problem != nil {
			return nil
		}
	}
	if len(conditions) == 0 {
		return nil
	}
	t := &Trial{scene: newScene(newNames(conditions)), conditions: conditions, met: map[string]*species{}, left: trialSteps}
	var texts []string
	t.kinds, texts = spoken(conditions)
	for i := range t.persons {
		t.persons[i] = person{t.reserve(1), t.reserve(1), t.reserve(wordsOfDress), t.reserve(wordsOfSender), t.reserve(wordsOfSender)}
	}
	for _, text := range texts {
		t.words = append(t.words, t.known(text))
	}
	return t
}

// answer is whether the conditions are true of a request, and what they read to
// tell. It is the answer for every other request that is the same as far as that.
type answer struct {
	about facts
	read  fact
	holds bool
}

// maxAnswers bounds those that are kept.
const maxAnswers = 64

// holds reports whether all conditions are true of a request about a resource.
func (t *Trial) holds(about facts) bool {
	if t.Exhausted != nil {
		return false
	}
	for i := range t.answers {
		if a := &t.answers[i]; a.about.agree(&about, a.read) {
			return a.holds
		}
	}
	t.facts, t.read = about, 0
	holds := true
	for _, c := range t.conditions {
		if holds = t.evaluate(c) == types.True; !holds {
			break
		}
	}
	if t.Exhausted == nil && len(t.answers) < maxAnswers {
		t.answers = append(t.answers, answer{about, t.read, holds})
	}
	return holds
}

// evaluate returns what one condition comes to, or nil if it comes to nothing.
func (t *Trial) evaluate(c *expression.Condition) ref.Val {
	value, taken, err := c.Program.Eval(t.scene)
	if t.left -= taken; expression.TooCostly(err) || t.left < 0 {
		t.Exhausted = c
		return nil
	}
	if err != nil {
		return nil
	}
	return value
}
