package expression

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Value converts a JSON value to a CEL value.
func Value(value any) ref.Val { return types.DefaultTypeAdapter.NativeToValue(value) }

// NoKeys is an empty map.
var NoKeys = types.NewStringInterfaceMap(types.DefaultTypeAdapter, nil)
