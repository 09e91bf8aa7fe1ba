package shape

import (
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

var schemaCheck = check{
	Title: "Schema",
	About: `Finds what the API server would refuse, drop or change. A malformed spec.expiresAt is left
to the check on lifetimes, which says more about it.`,
	Reasons: []Reason{
		{exception.ProblemUnknownVersion, "the API group has no such version of PolicyException", true},
		{exception.ProblemUnknownField, "the API server would drop a field that it does not know", true},
		{exception.ProblemUnsignableField, "metadata has a field that the API server or a controller sets", true},
		{exception.ProblemMissingField, "a required field is missing", true},
		{exception.ProblemWrongType, "a value has another type than its field", true},
		{exception.ProblemInvalidValue, "a value is none of those that its field takes", true},
		{exception.ProblemNullValue, "the API server would drop a null, and the live object would differ from the signed one", true},
		{exception.ProblemEmptyValue, "a value is empty that must not be, or that the API server would drop", true},
	},
	Run: (*subject).schema,
}

func (s *subject) schema(time.Time) {
	for _, p := range s.config.Definitions.CheckSchema(s.Doc) {
		if p.Reason == exception.ProblemInvalidValue && p.Path.String() == "spec.expiresAt" {
			continue
		}
		s.refuse(p.Reason, p.Path, p.Message, p.Hint)
	}
}
