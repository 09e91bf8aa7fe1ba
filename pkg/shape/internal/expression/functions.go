package expression

import (
	"errors"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// overload is one signature of a function: where method is set, the first
// argument stands before the dot.
type overload struct {
	id     string
	method bool
	args   []*cel.Type
	result *cel.Type
}

// kubernetesFunctions declares the functions of k8s.io/apiserver/pkg/cel/library.
// The library itself would double the size of a binary. Most are declared only,
// see evaluated: evaluating one is an error, and a condition that needs it is
// not judged by what it is true of.
func kubernetesFunctions() []cel.EnvOption {
	var options []cel.EnvOption
	implementations := evaluated()
	for _, table := range []map[string][]overload{
		regexFunctions(), listFunctions(), urlFunctions(), networkFunctions(), quantityFunctions(), semverFunctions(), formatFunctions(), authorizerFunctions(),
	} {
		for name, overloads := range table {
			options = append(options, declare(name, overloads, implementations))
		}
	}
	return options
}

func declare(name string, overloads []overload, implementations map[string]functions.FunctionOp) cel.EnvOption {
	declared := make([]cel.FunctionOpt, 0, len(overloads))
	for _, o := range overloads {
		binding := bound(o, implementations)
		if o.method {
			declared = append(declared, cel.MemberOverload(o.id, o.args, o.result, binding))
		} else {
			declared = append(declared, cel.Overload(o.id, o.args, o.result, binding))
		}
	}
	return cel.Function(name, declared...)
}

// bound gives a signature its implementation, as CEL wants it.
func bound(o overload, implementations map[string]functions.FunctionOp) cel.OverloadOpt {
	implementation, ok := implementations[o.id]
	if !ok {
		implementation = notEvaluated
	}
	switch len(o.args) {
	case 1:
		return cel.UnaryBinding(func(arg ref.Val) ref.Val { return implementation(arg) })
	case 2:
		return cel.BinaryBinding(func(one, other ref.Val) ref.Val { return implementation(one, other) })
	}
	return cel.FunctionBinding(implementation)
}

func notEvaluated(...ref.Val) ref.Val {
	return types.WrapErr(ErrNotEvaluated)
}

// ErrNotEvaluated is what comes of a function that is only declared.
var ErrNotEvaluated = errors.New("a function of Kubernetes that is not evaluated here")

func method(id string, result *cel.Type, args ...*cel.Type) overload {
	return overload{id: id, method: true, args: args, result: result}
}

func function(id string, result *cel.Type, args ...*cel.Type) overload {
	return overload{id: id, args: args, result: result}
}
