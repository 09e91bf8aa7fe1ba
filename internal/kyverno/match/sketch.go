package match

import (
	"errors"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// sketch is a map of which a file says a part. A condition that asks for what
// it does not say is told that this is unknown, and goes on from there: "unknown
// && false" is false. CEL's own patterns for unknown attributes are of no use
// here: with them all of an object is unknown as soon as one field is, and so is
// "object != null".
//
// What is asked of the map as a whole (how many keys has it, which, is it equal
// to another) is not answered but noted, and then whatever the condition comes to
// is not known.
type sketch struct {
	traits.Mapper                                            // of no keys, for its type
	field         func(name string) (value ref.Val, is bool) // what is unknown is
	missing       Assumptions                                // what is not known of the whole
	noted         *Assumptions
}

// Find returns the value behind a key.
func (s *sketch) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	return s.field(string(name))
}

// Get is Find, where an absent key is an error.
func (s *sketch) Get(key ref.Val) ref.Val {
	value, found := s.Find(key)
	if !found {
		return types.NewErr("no such key: %v", key)
	}
	return value
}

// Contains reports whether there is a key, which may be unknown.
func (s *sketch) Contains(key ref.Val) ref.Val {
	value, found := s.Find(key)
	if types.IsUnknown(value) {
		return value
	}
	return types.Bool(found)
}

// Weightless says that what it costs to ask it something does not depend on its size.
func (s *sketch) Weightless() {}

func (s *sketch) note() { *s.noted |= s.missing }

// Size notes that it was asked for.
func (s *sketch) Size() ref.Val {
	s.note()
	return s.Mapper.Size()
}

// Iterator notes that it was asked for.
func (s *sketch) Iterator() traits.Iterator {
	s.note()
	return s.Mapper.Iterator()
}

// Equal notes that it was asked for.
func (s *sketch) Equal(ref.Val) ref.Val {
	s.note()
	return types.False
}

// ConvertToNative notes that it was asked for.
func (s *sketch) ConvertToNative(reflect.Type) (any, error) {
	s.note()
	return nil, errors.New("an object that is known in part")
}

// Value notes that it was asked for.
func (s *sketch) Value() any {
	s.note()
	return nil
}
