package expression

import (
	"net/netip"
	"net/url"
	"regexp"

	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// evaluated are those of Kubernetes' functions that are evaluated, by the ids of
// their overloads: the ones that ask something of a name, so that a condition
// such as !isIP(object.metadata.name) is not taken for narrow.
func evaluated() map[string]functions.FunctionOp {
	return map[string]functions.FunctionOp{
		"string_find_string":         find,
		"string_find_all_string":     findAll,
		"string_find_all_string_int": findAll,
		"is_ip": ask(func(text string) bool {
			address, err := netip.ParseAddr(text)
			return err == nil && address.Zone() == "" && !address.Is4In6()
		}),
		"is_cidr": ask(func(text string) bool {
			_, err := netip.ParsePrefix(text)
			return err == nil
		}),
		"is_url_string": ask(func(text string) bool {
			_, err := url.ParseRequestURI(text)
			return err == nil
		}),
	}
}

// ask makes a function of one text.
func ask(is func(string) bool) functions.FunctionOp {
	return func(args ...ref.Val) ref.Val {
		text, ok := args[0].(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[0])
		}
		return types.Bool(is(string(text)))
	}
}

func find(args ...ref.Val) ref.Val {
	text, expression, failed := searched(args)
	if failed != nil {
		return failed
	}
	return types.String(expression.FindString(text))
}

func findAll(args ...ref.Val) ref.Val {
	text, expression, failed := searched(args)
	if failed != nil {
		return failed
	}
	most := types.Int(-1)
	if len(args) == 3 {
		var ok bool
		if most, ok = args[2].(types.Int); !ok {
			return types.MaybeNoSuchOverloadErr(args[2])
		}
	}
	// There are no more places than characters, and one at the end.
	if most < 0 || int64(most) > int64(len(text)+1) {
		most = types.Int(len(text) + 1)
	}
	found := expression.FindAllString(text, int(most))
	return types.NewStringList(types.DefaultTypeAdapter, found)
}

func searched(args []ref.Val) (text string, expression *regexp.Regexp, failed ref.Val) {
	in, ok := args[0].(types.String)
	pattern, isText := args[1].(types.String)
	if !ok || !isText {
		return "", nil, types.NewErr("no such overload")
	}
	expression, err := regexp.Compile(string(pattern))
	if err != nil {
		return "", nil, types.NewErr("no regular expression")
	}
	return string(in), expression, nil
}
