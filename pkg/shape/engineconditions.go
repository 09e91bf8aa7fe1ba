package shape

import (
	"fmt"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// maxConditions is the most match conditions that Kyverno's webhook takes.
const maxConditions = 64

// badCondition finds match conditions whose names Kyverno's webhook refuses: a
// name has the form of a label's key and stands once. Whether an expression
// compiles is another check.
func (s *subject) badCondition(time.Time) {
	items, _ := s.spec()["matchConditions"].([]any)
	path := exception.Path{"spec", "matchConditions"}
	if len(items) > maxConditions {
		s.refuse(ReasonBadCondition, path, fmt.Sprintf("%d conditions are more than the %d that Kyverno takes", len(items), maxConditions), "join some with &&")
	}
	met := map[string]bool{}
	for i, item := range items {
		condition, _ := item.(map[string]any)
		name, isText := condition["name"].(string)
		if !isText || name == "" {
			continue // the schema says so
		}
		at := path.With(i).With("name")
		switch {
		case !exception.IsQualifiedName(name):
			s.refuse(ReasonBadCondition, at, fmt.Sprintf("%q is not a condition's name", name), "use at most 63 letters, digits, dashes, underscores and dots, a letter or digit first and last")
		case met[name]:
			s.refuse(ReasonBadCondition, at, fmt.Sprintf("a second condition has the name %q", name), "name what each of them asks for")
		}
		met[name] = true
	}
}
