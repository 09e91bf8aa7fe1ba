package expression

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Value makes a value of CEL of a value of JSON.
func Value(value any) ref.Val { return types.DefaultTypeAdapter.NativeToValue(value) }

// NoKeys is a map that has none.
var NoKeys = types.NewStringInterfaceMap(types.DefaultTypeAdapter, nil)
