package witness

import (
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/polex-dev/polex/pkg/shape/internal/expression"
)

// view is a map whose values are made when they are asked for: most conditions ask
// for one or two. Asked about as a whole, it makes all.
type view struct {
	traits.Mapper // of no keys, for its type
	field         func(name string) (ref.Val, bool)
	names         func() []string // of all that there can be
}

func newView(field func(string) (ref.Val, bool), names func() []string) *view {
	return &view{expression.NoKeys, field, names}
}

// Weightless says that nothing walks through a view unless it is asked for.
func (v *view) Weightless() {}

// Find returns the value behind a key.
func (v *view) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	return v.field(string(name))
}

// Get is Find, where an absent key is an error.
func (v *view) Get(key ref.Val) ref.Val {
	value, found := v.Find(key)
	if !found {
		return types.NewErr("no such key: %v", key)
	}
	return value
}

// Contains reports whether there is a key.
func (v *view) Contains(key ref.Val) ref.Val {
	_, found := v.Find(key)
	return types.Bool(found)
}

func (v *view) whole() traits.Mapper {
	all := map[ref.Val]ref.Val{}
	for _, name := range v.names() {
		if value, found := v.field(name); found {
			all[types.String(name)] = value
		}
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, all)
}

// Size makes all values, as does what follows.
func (v *view) Size() ref.Val { return v.whole().Size() }

// Iterator is over the keys.
func (v *view) Iterator() traits.Iterator { return v.whole().Iterator() }

// Equal compares two maps. Nothing else is one.
func (v *view) Equal(other ref.Val) ref.Val {
	if _, is := other.(traits.Mapper); !is {
		return types.False
	}
	return v.whole().Equal(other)
}

// ConvertToNative returns a map of Go.
func (v *view) ConvertToNative(to reflect.Type) (any, error) { return v.whole().ConvertToNative(to) }

// Value returns a map of Go.
func (v *view) Value() any { return v.whole().Value() }
