package expression

import (
	"errors"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// A step may make a value of any size: chained calls of replace, or
// [x].map(x, [x, x]) a few dozen times, make values beyond any memory in few of
// them. So every value that an expression makes or reads is weighed.

// elementWeight is what a value weighs besides its characters.
const elementWeight = 8

// weightless is a value that is made as it is read, which weighs as little as a
// pointer.
type weightless interface{ Weightless() }

// weigh takes the weight of a value from what is left and returns the rest,
// which is negative when the value is too heavy.
func weigh(value ref.Val, left int) int {
	left -= elementWeight
	switch v := value.(type) {
	case types.String:
		return left - len(v)
	case types.Bytes:
		return left - len(v)
	case *types.Optional:
		if v.HasValue() {
			return weigh(v.GetValue(), left)
		}
	case weightless:
		return left
	case traits.Mapper:
		for it := v.Iterator(); left >= 0 && it.HasNext() == types.True; {
			key := it.Next()
			left = weigh(v.Get(key), weigh(key, left))
		}
	case traits.Lister:
		for it := v.Iterator(); left >= 0 && it.HasNext() == types.True; {
			left = weigh(it.Next(), left)
		}
	}
	return left
}

var errTooHeavy = errors.New("a value grows too large")

func tooHeavy() ref.Val { return types.WrapErr(errTooHeavy) }
