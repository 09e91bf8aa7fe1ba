package witness

import (
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/polex-dev/polex/pkg/shape/internal/expression"
)

// facts are what a made-up request about a made-up resource can differ in from
// another. They are compared, so that what is true of one is not asked again of
// another that is the same to the conditions.
type facts struct {
	operation       string // CREATE, UPDATE or DELETE
	species         *species
	name, namespace word // no namespace: cluster-scoped
	dress           word // the first of those that labels and annotations are made of; none: it has neither
	sender          sender
}

// sender is who sends a request.
type sender struct {
	is    string // byUser or byServiceAccount
	words word   // the first of those that the names are made of
}

// How many words are made up for each.
const (
	wordsOfDress  = 8
	wordsOfSender = 3
)

// fact is one of the facts, or a question about one.
type fact uint8

const (
	factOperation fact = 1 << iota
	factObject         // is there one?
	factOldObject
	factSpecies
	factName
	factNamespace
	factDress
	factSender
)

// agree reports whether two are the same as far as was read.
func (f *facts) agree(other *facts, read fact) bool {
	return (read&factOperation == 0 || f.operation == other.operation) &&
		(read&factObject == 0 || (f.operation == "DELETE") == (other.operation == "DELETE")) &&
		(read&factOldObject == 0 || (f.operation == "CREATE") == (other.operation == "CREATE")) &&
		(read&factSpecies == 0 || f.species == other.species) &&
		(read&factName == 0 || f.name == other.name) &&
		(read&factNamespace == 0 || f.namespace == other.namespace) &&
		(read&factDress == 0 || f.dress == other.dress) &&
		(read&factSender == 0 || f.sender == other.sender)
}

// scene gives facts to the conditions, as the variables that Kyverno would give
// them and an API server would make: an empty field is absent, and what does not
// exist is null. It notes what is read, and is a [cel.Activation].
type scene struct {
	*names
	facts                     facts
	read                      fact
	object, metadata, request *view
}

func newScene(n *names) *scene {
	s := &scene{names: n}
	s.object = newView(s.objectField, s.objectFields)
	s.metadata = newView(s.metadataField, metadataFields)
	s.request = newView(s.requestField, requestFields)
	return s
}

// ResolveName returns a variable's value.
func (s *scene) ResolveName(name string) (any, bool) {
	switch name {
	case "object":
		return s.newObject(), true
	case "oldObject":
		return s.oldObject(), true
	case "request":
		return s.request, true
	case "namespaceObject":
		return s.namespaceObject(), true
	}
	return nil, false
}

// Parent returns nil: there are no other variables.
func (s *scene) Parent() cel.Activation { return nil }

func (s *scene) newObject() ref.Val {
	s.read |= factObject
	if s.facts.operation == "DELETE" {
		return types.NullValue
	}
	return s.object
}

func (s *scene) oldObject() ref.Val {
	s.read |= factOldObject
	if s.facts.operation == "CREATE" {
		return types.NullValue
	}
	return s.object
}

// objectFields are those that every object has, and those of its species.
func (s *scene) objectFields() []string {
	s.read |= factSpecies
	return slices.AppendSeq([]string{"apiVersion", "kind", "metadata"}, maps.Keys(s.facts.species.fields))
}

func (s *scene) objectField(name string) (ref.Val, bool) {
	if name == "metadata" {
		return s.metadata, true
	}
	s.read |= factSpecies
	switch name {
	case "apiVersion":
		return types.String(s.facts.species.apiVersion()), true
	case "kind":
		return types.String(s.facts.species.kind), true
	}
	value, ok := s.facts.species.fields[name]
	return value, ok
}

func metadataFields() []string {
	return []string{"name", "namespace", "labels", "annotations", "uid", "creationTimestamp"}
}

func (s *scene) metadataField(name string) (ref.Val, bool) {
	switch name {
	case "name":
		s.read |= factName
		return s.word(s.facts.name), true
	case "namespace":
		s.read |= factNamespace
		return s.word(s.facts.namespace), s.facts.namespace != 0
	case "labels", "annotations":
		s.read |= factDress
		if s.facts.dress != 0 {
			return expression.Value(s.dress(name)), true
		}
	case "uid":
		return types.String("0b61a1e4-53c1-4b7e-9d0e-5c8a1f0a7c11"), true
	case "creationTimestamp":
		return types.String("2026-01-02T03:04:05Z"), true
	}
	return nil, false
}

// dress are the labels or the annotations. One of each is of somebody's domain.
func (s *scene) dress(field string) map[string]any {
	worn := func(nth word) string { return s.text(s.facts.dress + nth) }
	if field == "annotations" {
		return map[string]any{worn(5) + domain + "/" + worn(6): worn(7)}
	}
	return map[string]any{worn(0): worn(1), worn(2) + domain + "/" + worn(3): worn(4)}
}

func (s *scene) word(w word) ref.Val { return types.String(s.text(w)) }
