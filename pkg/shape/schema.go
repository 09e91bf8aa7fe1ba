package shape

import (
	"github.com/polex-dev/polex/pkg/exception"
)

var schemaCheck = check{
	Title: "Schema",
	About: `Finds what the API server would refuse, drop or change. A malformed spec.expiresAt is left
to the check on lifetimes, which says more about it.`,
	Reasons: []Reason{
		{Name: exception.ProblemUnknownVersion, Doc: "the API group has no such version of PolicyException", Fixed: true},
		{Name: exception.ProblemUnknownField, Doc: "the API server would drop a field that it does not know", Fixed: true},
		{Name: exception.ProblemUnsignableField, Doc: "metadata has a field that the API server or a controller sets", Fixed: true},
		{Name: exception.ProblemMissingField, Doc: "a required field is missing", Fixed: true},
		{Name: exception.ProblemWrongType, Doc: "a value has another type than its field", Fixed: true},
		{Name: exception.ProblemInvalidValue, Doc: "a value is none of those that its field takes", Fixed: true},
		{Name: exception.ProblemNullValue, Doc: "the API server would drop a null, and the live object would differ from the signed one", Fixed: true},
		{Name: exception.ProblemEmptyValue, Doc: "a value is empty that must not be, or that the API server would drop", Fixed: true},
	},
	Run: (*subject).schema,
}

func (s *subject) schema() {
	for _, p := range s.config.Definitions.CheckSchema(s.Doc) {
		if p.Reason == exception.ProblemInvalidValue && p.Path.String() == "spec.expiresAt" {
			continue
		}
		s.find(p.Reason, p.Path, p.Message, p.Hint)
	}
}
