package shape

import (
	"github.com/polex-dev/polex/internal/kyverno/schema"
)

var schemaCheck = check{
	Title: "Schema",
	About: "Finds content that the API server would reject, drop or change. [Lifetime](#lifetime) covers an invalid " +
		"`spec.expiresAt`.",
	Reasons: []Reason{
		{Name: schema.UnknownVersion, Doc: "the API group does not have this version of PolicyException", Fixed: true},
		{Name: schema.UnknownField, Doc: "the API server does not know a field and would drop it", Fixed: true},
		{Name: schema.UnsignableField, Doc: "metadata has a field that the API server or a controller sets",
			Fixed: true},
		{Name: schema.MissingField, Doc: "a required field is missing", Fixed: true},
		{Name: schema.WrongType, Doc: "a value has another type than its field requires", Fixed: true},
		{Name: schema.InvalidValue, Doc: "the field does not accept this value", Fixed: true},
		{Name: schema.NullValue, Doc: "the API server would drop a null, and the live object would differ from the " +
			"signed one", Fixed: true},
		{Name: schema.EmptyValue, Doc: "a value is empty and must not be, or the API server would drop it",
			Fixed: true},
	},
	Run: (*subject).schema,
}

func (s *subject) schema() {
	for _, p := range schema.Check(s.Doc) {
		if p.Reason == schema.InvalidValue && p.Path.String() == "spec.expiresAt" {
			continue
		}
		s.find(p.Reason, p.Path, p.Message, p.Hint)
	}
}
