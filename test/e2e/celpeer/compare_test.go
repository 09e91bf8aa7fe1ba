package celpeer

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/cel"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/must"
)

// oursTakes reports whether polex accepts an expression as a condition, and the reason if not.
func oursTakes(t *testing.T, checker *shape.Checker, expression string) (bool, string) {
	t.Helper()
	d := must.Get(exception.FromObject(map[string]any{
		"apiVersion": "policies.kyverno.io/v1", "kind": "PolicyException", "metadata": map[string]any{"name": "a", "namespace": "b"},
		"spec": map[string]any{"matchConditions": []any{map[string]any{"name": "c", "expression": expression}}},
	}))(t)
	for _, f := range checker.Check(d, time.Time{}) {
		if f.Reason == shape.ReasonBadExpression && strings.Contains(f.Message, "does not compile") {
			return false, f.Message
		}
	}
	return true, ""
}

// TestEveryFunction calls every overload that the peer declares, with arguments of the right type and of a wrong one.
func TestEveryFunction(t *testing.T) {
	env := peerEnv(t)
	checker := must.Get(shape.New(shape.Config{}))(t)
	tried := 0
	functions := env.Functions()
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		for _, overload := range functions[name].OverloadDecls() {
			call, ok := written(name, overload.IsMemberFunction(), overload.ArgTypes())
			if !ok {
				continue
			}
			expressions := []string{"dyn(" + call + ") == object.x", "[" + call + ", ''].size() == 2"}
			if of, ok := literal(overload.ResultType()); ok {
				expressions = append(expressions, "["+call+", "+of+"].size() == 2")
			}
			if !overload.IsMemberFunction() && !strings.ContainsAny(name, "_@!-") {
				expressions = append(expressions, strings.TrimSuffix(call, ")")+", object) == object.x")
			}
			for _, e := range expressions {
				tried++
				ours, why := oursTakes(t, checker, e)
				if peer := peerTakes(env, e); peer != ours {
					t.Errorf("%s (%s): the peer takes it: %t, polex: %t %s", e, overload.ID(), peer, ours, why)
				}
			}
		}
	}
	must.That(t, tried >= 300, "only %d calls were tried", tried)
}

// written returns a call of an overload, or false if it has no call syntax.
func written(name string, member bool, args []*cel.Type) (string, bool) {
	if strings.ContainsAny(name, "_@!-") {
		return "", false // an operator
	}
	texts := make([]string, 0, len(args))
	for _, arg := range args {
		text, ok := literal(arg)
		if !ok {
			return "", false
		}
		texts = append(texts, text)
	}
	if member {
		return fmt.Sprintf("%s.%s(%s)", texts[0], name, strings.Join(texts[1:], ", ")), true
	}
	return fmt.Sprintf("%s(%s)", name, strings.Join(texts, ", ")), true
}

// literal returns an expression of a type.
func literal(of *cel.Type) (string, bool) {
	if text, ok := map[string]string{
		"string": "'1s'", "int": "1", "uint": "1u", "double": "1.5", "bool": "true", "bytes": "b'a'", "dyn": "dyn(1)", "null_type": "null",
		"google.protobuf.Timestamp": "timestamp('2026-01-01T00:00:00Z')", "timestamp": "timestamp('2026-01-01T00:00:00Z')",
		"google.protobuf.Duration": "duration('1s')", "duration": "duration('1s')",
		"kubernetes.URL": "url('http://a')", "kubernetes.Quantity": "quantity('1')", "kubernetes.Semver": "semver('1.0.0')",
		"kubernetes.NamedFormat": "format.uuid()", "net.IP": "ip('1.1.1.1')", "net.CIDR": "cidr('1.1.1.0/24')",
	}[of.TypeName()]; ok && len(of.Parameters()) == 0 {
		return text, true
	}
	if strings.HasPrefix(of.TypeName(), "kubernetes.authorization.") {
		return "", false // no expression has this type
	}
	var inner []string
	for _, p := range of.Parameters() {
		text, ok := literal(p)
		if !ok {
			return "", false
		}
		inner = append(inner, text)
	}
	switch {
	case of.TypeName() == "list" && len(inner) == 1:
		return "[" + inner[0] + "]", true
	case of.TypeName() == "map" && len(inner) == 2:
		return "{" + inner[0] + ": " + inner[1] + "}", true
	case of.TypeName() == "optional_type" && len(inner) == 1:
		return "optional.of(" + inner[0] + ")", true
	case of.TypeName() == "type":
		return "int", true
	case of.Kind() == cel.TypeParamKind:
		return "1", true
	}
	return "", false
}

// TestEveryExpressionOfTheTests tries each text in shape's own tests as an expression. Most of them are.
func TestEveryExpressionOfTheTests(t *testing.T) {
	env := peerEnv(t)
	checker := must.Get(shape.New(shape.Config{}))(t)
	taken, refused := 0, 0
	paths, err := filepath.Glob("../../../pkg/shape/*_test.go")
	must.That(t, err == nil && len(paths) != 0, "no tests found: %v", err)
	for _, path := range paths {
		file := must.Get(parser.ParseFile(token.NewFileSet(), path, nil, 0))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			e, err := strconv.Unquote(lit.Value)
			if err != nil || e == "" {
				return true
			}
			ours, why := oursTakes(t, checker, e)
			peer := peerTakes(env, e)
			if peer != ours {
				t.Errorf("%.300s: the peer takes it: %t, polex: %t %s", e, peer, ours, why)
			}
			if peer {
				taken++
			} else {
				refused++
			}
			return true
		})
	}
	must.That(t, taken >= 100 && refused >= 100, "only %d were taken and %d refused", taken, refused)
}
