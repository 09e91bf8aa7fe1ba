package expression

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"

	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// languages returns the language of conditions, and the same with cel-go's package ext.
func languages(t *testing.T) (ours, theirs *cel.Env) {
	t.Helper()
	env := func(options ...cel.EnvOption) *cel.Env {
		l := must.Get(newLanguage(
			append(options, cel.HomogeneousAggregateLiterals(), cel.Variable("object", cel.DynType))...))(t)
		return l.env
	}
	literals := cel.ValidateHomogeneousAggregateLiterals()
	functions, _, _ := strings.Cut(declared, "# Kubernetes")
	own := append(declarations(functions), cel.ASTValidators(literals, formatCalls{}), macros())
	ours = env(own...)
	return ours, env(cel.ASTValidators(literals),
		ext.Strings(ext.StringsVersion(2)), ext.Sets(), ext.Lists(ext.ListsVersion(3)), ext.TwoVarComprehensions())
}

// TestExtensionsAreDeclared: the functions and macros are those of package ext, and no others.
func TestExtensionsAreDeclared(t *testing.T) {
	declared := func(env *cel.Env) map[string]string {
		all := map[string]string{}
		for name, f := range env.Functions() {
			for _, o := range f.OverloadDecls() {
				all[name+" "+o.ID()] = fmt.Sprint(o.IsMemberFunction(), " ", o.ArgTypes(), " ", o.ResultType())
			}
		}
		for _, m := range env.Macros() {
			all["macro "+m.MacroKey()] = ""
		}
		return all
	}
	ours, theirs := languages(t)
	expect.Equal(t, "result (-ext +polex)", declared(theirs), declared(ours))
	n := len(declared(ours))
	expect.That(t, n >= 200, "%d declarations", n)
}

// TestExtensionsAgree: an expression with a macro or a format compiles exactly if it does with package ext.
func TestExtensionsAgree(t *testing.T) {
	values := []string{
		"1", "1u", "1.5", "'a'", "b'a'", "true", "null", "int", "duration('1s')",
		"timestamp('2026-01-01T00:00:00Z')", "object", "dyn(1)", "optional.of(1)",
		"[1]", "['a']", "[object]", "[]", "{}", "{'a': 1}", "{1: 'a'}", "[[1], [2]]", "[optional.of(1)]",
		"{'a': optional.of(1)}", "[?optional.of(1)]", "[1, 'a']",
		"{'a': [1, 'a']}", "object.x", "['b'].map(x, x)", "(1 == 1 ? [1] : [2])",
	}
	var expressions []string
	for _, target := range append(values[10:], "1", "'a'") {
		for _, name := range []string{
			"all", "exists", "existsOne", "exists_one", "transformList", "transformMap", "transformMapEntry", "sortBy",
		} {
			for _, arguments := range []string{
				"", "x", "x, x", "x, y", "x, y, true", "x, y, y", "x, y, x == y", "x, x, true", "x.a, y, true",
				"x, 1, true", "@result, y, true", "x, __result__, true", "__result__, __result__, true",
				"x, y, true, y", "x, y, 1, y", "x, y, x != y, {x: y}", "x, y, {y: x}", "x, y, true, true, y", "x, -x",
				"x, [x]", "x, x.a", "x, optional.of(x)", "x, y, z", "z, y, [y].exists(z, z == y)",
			} {
				expressions = append(expressions, target+"."+name+"("+arguments+")", target+"."+name+"("+arguments+") == true")
			}
		}
	}
	for _, verb := range strings.Split("s d o f e b x X z S %", " ") {
		for _, form := range []string{
			"%", "%.", "%.1", "%.01", "%.99999999999999999999", "%%", "%.1%", "%-1", "a%", "%.1.", "é%", "%\\n",
		} {
			for _, value := range values {
				expressions = append(expressions, fmt.Sprintf("'%s%s'.format([%s]) == ''", form, verb, value))
			}
		}
	}
	for _, text := range []string{
		"", "a", "%", "%%", "%.1%", "%.", "%.5", "%s", "%s%d", "%s %s %s", "%é", "% s", "%s%",
	} {
		for _, args := range []string{
			"[]", "['a']", "['a', 1]", "['a', 'b', 'c']", "object", "dyn([1])", "1", "'a', 'b'",
			"[['a', 1], {'a': 1, 'b': optional.of(1)}]", "[{optional.of(1): 1}]",
		} {
			expressions = append(expressions, fmt.Sprintf("'%s'.format(%s) == ''", text, args),
				fmt.Sprintf("format('%s', %s) == ''", text, args), fmt.Sprintf("object.format(%s) == '%s'", args, text))
		}
	}
	ours, theirs := languages(t)
	valid := 0
	for _, e := range expressions {
		_, problem := ours.Compile(e)
		_, want := theirs.Compile(e)
		expect.That(t, (problem.Err() == nil) == (want.Err() == nil),
			"%s: ext: %v, polex: %v", e, want.Err(), problem.Err())
		if want.Err() == nil {
			valid++
		}
	}
	t.Logf("%d of %d expressions are valid", valid, len(expressions))
	expect.That(t, valid >= 1000 && len(expressions)-valid >= 1000,
		"%d of %d expressions are valid", valid, len(expressions))
}

// FuzzExtensions: any text compiles exactly if it does with package ext.
func FuzzExtensions(f *testing.F) {
	for _, text := range []string{
		"{'a': 1}.transformMap(k, v, v > 1, k + 'a') == {}", "[1].sortBy(x, -x)[0] == 1",
		"'%.2f %%'.format([1.5, 'a'])", "[3, 1].sort().distinct()", "['a'].join(',').split(',', 2)",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 500 {
			return
		}
		ours, theirs := languages(t)
		_, problem := ours.Compile(text)
		_, want := theirs.Compile(text)
		expect.That(t, (problem.Err() == nil) == (want.Err() == nil),
			"%q: ext: %v, polex: %v", text, want.Err(), problem.Err())
	})
}
