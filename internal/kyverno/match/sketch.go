package match

import (
	"errors"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// sketch is a map that a file contains only in part. A missing key has an unknown value, and CEL
// continues with it: "unknown && false" is false. CEL's own patterns for unknown attributes cannot
// be used. With them, one unknown field makes the whole object unknown, and so "object != null"
// too.
//
// An operation on the whole map (its size, its keys, a comparison) gets an arbitrary answer and is
// noted. The result of the condition is then unknown.
type sketch struct {
	traits.Mapper                                            // an empty map, for its type
	field         func(name string) (value ref.Val, is bool) // returns the value of a key, perhaps unknown
	missing       Assumptions                                // the unknown facts about the whole map
	noted         *Assumptions
}

// Find returns the value of a key.
func (s *sketch) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	return s.field(string(name))
}

// Get is Find with an error for a missing key.
func (s *sketch) Get(key ref.Val) ref.Val {
	value, found := s.Find(key)
	if !found {
		return types.NewErr("no such key: %v", key)
	}
	return value
}

// Contains reports whether a key exists; the answer may be unknown.
func (s *sketch) Contains(key ref.Val) ref.Val {
	value, found := s.Find(key)
	if types.IsUnknown(value) {
		return value
	}
	return types.Bool(found)
}

// Weightless means that the cost of an operation does not depend on its size.
func (s *sketch) Weightless() {}

func (s *sketch) note() { *s.noted |= s.missing }

// Size notes the operation.
func (s *sketch) Size() ref.Val {
	s.note()
	return s.Mapper.Size()
}

// Iterator notes the operation.
func (s *sketch) Iterator() traits.Iterator {
	s.note()
	return s.Mapper.Iterator()
}

// Equal notes the operation.
func (s *sketch) Equal(ref.Val) ref.Val {
	s.note()
	return types.False
}

// ConvertToNative notes the operation.
func (s *sketch) ConvertToNative(reflect.Type) (any, error) {
	s.note()
	return nil, errors.New("an object that is known in part")
}

// Value notes the operation.
func (s *sketch) Value() any {
	s.note()
	return nil
}
