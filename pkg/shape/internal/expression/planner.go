package expression

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// newPlanner returns what makes programs in an environment. [cel.Env] would index
// all functions of the environment again for each program, which takes longer than
// to plan one.
func newPlanner(env *cel.Env) (interpreter.Interpreter, error) {
	index := interpreter.NewDispatcher()
	for name, declared := range env.Functions() {
		bindings, err := declared.Bindings()
		if err != nil {
			return nil, fmt.Errorf("bind %s: %w", name, err)
		}
		if err := index.Add(bindings...); err != nil {
			return nil, fmt.Errorf("bind %s: %w", name, err)
		}
	}
	provider, adapter := env.CELTypeProvider(), env.CELTypeAdapter()
	attributes := interpreter.NewAttributeFactory(env.Container, adapter, provider)
	return interpreter.NewInterpreter(index, env.Container, provider, adapter, attributes), nil
}

// orElse makes parts of the methods of optional values, or and orValue, that do not
// evaluate their argument without need. It is what [cel.OptionalTypes] leaves to
// [cel.Env].
func orElse(part interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := part.(interpreter.InterpretableCall)
	if !ok || len(call.Args()) != 2 {
		return part, nil
	}
	switch call.Function() {
	case "or":
		return &alternative{call, false}, nil
	case "orValue":
		return &alternative{call, true}, nil
	}
	return part, nil
}

type alternative struct {
	interpreter.InterpretableCall
	unwraps bool
}

// Exec returns the optional value, or its content, if there is one, and the
// argument otherwise.
func (a *alternative) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	value := a.Args()[0].Exec(frame)
	optional, ok := value.(*types.Optional)
	switch {
	case types.IsUnknownOrError(value):
		return value
	case !ok:
		return types.MaybeNoSuchOverloadErr(value)
	case !optional.HasValue():
		return a.Args()[1].Exec(frame)
	case a.unwraps:
		return optional.GetValue()
	}
	return value
}

// Eval does so without a frame.
func (a *alternative) Eval(activation interpreter.Activation) ref.Val {
	return a.Exec(interpreter.AsFrame(activation))
}
