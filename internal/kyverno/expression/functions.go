package expression

import "github.com/google/cel-go/cel"

// overload is one signature of a function. In a method, the first argument is before the dot.
type overload struct {
	id     string
	method bool
	args   []*cel.Type
	result *cel.Type
}

// declarations declares the functions of cel-go's package ext and of k8s.io/apiserver/pkg/cel/library.
// The libraries themselves would more than double the size of a binary. polex does not implement these
// functions.
func declarations() []cel.EnvOption {
	var options []cel.EnvOption
	for _, table := range []map[string][]overload{
		stringFunctions(), collectionFunctions(),
		regexFunctions(), listFunctions(), urlFunctions(), networkFunctions(), quantityFunctions(), semverFunctions(), formatFunctions(), authorizerFunctions(),
	} {
		for name, overloads := range table {
			options = append(options, declare(name, overloads))
		}
	}
	return options
}

func declare(name string, overloads []overload) cel.EnvOption {
	declared := make([]cel.FunctionOpt, 0, len(overloads))
	for _, o := range overloads {
		if o.method {
			declared = append(declared, cel.MemberOverload(o.id, o.args, o.result))
		} else {
			declared = append(declared, cel.Overload(o.id, o.args, o.result))
		}
	}
	return cel.Function(name, declared...)
}

func method(id string, result *cel.Type, args ...*cel.Type) overload {
	return overload{id: id, method: true, args: args, result: result}
}

func function(id string, result *cel.Type, args ...*cel.Type) overload {
	return overload{id: id, args: args, result: result}
}
