package match

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// equalities are the only texts with which the conditions can be true, for the kind, name and
// namespace of a resource. They reduce the number of resources to try. Nil is any text.
type equalities struct{ kinds, names, namespaces []string }

// equalitiesOf reads conditions that "and" joins. It ignores variables that are not in of.
func equalitiesOf(conditions []*term, of map[string]string) equalities {
	var all equalities
	for _, c := range conditions {
		all = all.both(readEqualities(c.expr.Expr(), of))
	}
	return all
}

// readEqualities reads "field == text" and "field in [texts]", joined by "&&" and "||". It also
// reads "[object].exists(it, …)", which gives the object another name. of maps variables to the
// object or the request.
func readEqualities(e ast.Expr, of map[string]string) equalities {
	switch e.Kind() {
	case ast.ComprehensionKind:
		if name, subject, body := soleElement(e.AsComprehension()); name != "" {
			return readEqualities(body, renamed(of, name, subject))
		}
	case ast.CallKind:
		switch call := e.AsCall(); call.FunctionName() {
		case operators.LogicalAnd:
			return readEqualities(call.Args()[0], of).both(readEqualities(call.Args()[1], of))
		case operators.LogicalOr:
			return readEqualities(call.Args()[0], of).either(readEqualities(call.Args()[1], of))
		default:
			if field, texts := comparedIn(call); field != nil {
				return equalTo(fieldPath(field, of), texts)
			}
		}
	}
	return equalities{}
}

// comparedIn reads "field == text", the reverse, and "field in [texts]". The field is nil for other
// calls.
func comparedIn(call ast.CallExpr) (field ast.Expr, texts []string) {
	args := call.Args()
	switch call.FunctionName() {
	case operators.Equals:
		one, other := args[0], args[1]
		if one.Kind() == ast.LiteralKind {
			one, other = other, one
		}
		if text, ok := literalText(other); ok {
			return one, []string{text}
		}
	case operators.In:
		if texts, ok := literalTexts(args[1]); ok {
			return args[0], texts
		}
	}
	return nil, nil
}

func equalTo(field string, texts []string) equalities {
	switch field {
	case "object.kind", "request.kind.kind":
		return equalities{kinds: texts}
	case "object.metadata.name", "request.name":
		return equalities{names: texts}
	case "object.metadata.namespace", "request.namespace":
		return equalities{namespaces: texts}
	}
	return equalities{}
}

// both combines equalities that both hold: the shorter list of each is sufficient.
func (e equalities) both(other equalities) equalities {
	shorter := func(a, b []string) []string {
		if a == nil || b != nil && len(b) < len(a) {
			return b
		}
		return a
	}
	return equalities{shorter(e.kinds, other.kinds), shorter(e.names, other.names), shorter(e.namespaces, other.namespaces)}
}

// either combines equalities of which one holds.
func (e equalities) either(other equalities) equalities {
	together := func(a, b []string) []string {
		if a == nil || b == nil {
			return nil
		}
		return slices.Concat([]string{}, a, b)
	}
	return equalities{together(e.kinds, other.kinds), together(e.names, other.names), together(e.namespaces, other.namespaces)}
}

// soleElement reads "[subject].exists(name, body)". It returns no name for other loops.
func soleElement(c ast.ComprehensionExpr) (name string, subject, body ast.Expr) {
	step := c.LoopStep()
	if c.HasIterVar2() || c.IterRange().Kind() != ast.ListKind || step.Kind() != ast.CallKind || step.AsCall().FunctionName() != operators.LogicalOr ||
		c.AccuInit().Kind() != ast.LiteralKind || c.AccuInit().AsLiteral() != types.False || c.Result().Kind() != ast.IdentKind {
		return "", nil, nil
	}
	if list := c.IterRange().AsList(); list.Size() == 1 && len(list.OptionalIndices()) == 0 {
		return c.IterVar(), list.Elements()[0], step.AsCall().Args()[1]
	}
	return "", nil, nil
}

// renamed adds a name for the meaning of an expression.
func renamed(of map[string]string, name string, subject ast.Expr) map[string]string {
	more := maps.Clone(of)
	more[name] = meaning(subject, of)
	return more
}

// meaning returns the variable that an expression means, or "". Both results of a ternary have to
// mean the same.
func meaning(e ast.Expr, of map[string]string) string {
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Conditional {
		one, other := meaning(e.AsCall().Args()[1], of), meaning(e.AsCall().Args()[2], of)
		if one == other {
			return one
		}
		return ""
	}
	return fieldPath(e, of)
}

// allow reports whether one of the names can be the name of a resource. The API server generates a
// name from the first 58 characters of generateName and five random ones
// (k8s.io/apiserver/pkg/storage/names).
func (e equalities) allow(r *Resource) bool {
	const most, added = 58, 5
	return e.names == nil || !r.generated || slices.ContainsFunc(e.names, func(name string) bool {
		prefix := r.Id.Name[:min(len(r.Id.Name), most)]
		return len(name) == len(prefix)+added && strings.HasPrefix(name, prefix)
	})
}

func literalTexts(e ast.Expr) ([]string, bool) {
	if e.Kind() != ast.ListKind || len(e.AsList().OptionalIndices()) > 0 {
		return nil, false
	}
	texts := make([]string, 0, e.AsList().Size())
	for _, element := range e.AsList().Elements() {
		text, ok := literalText(element)
		if !ok {
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, true
}

func literalText(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().(types.String)
	return string(text), ok
}

// fieldPath writes a variable and its fields with dots. It returns "" for other expressions.
func fieldPath(e ast.Expr, of map[string]string) string {
	switch e.Kind() {
	case ast.IdentKind:
		return of[e.AsIdent()]
	case ast.SelectKind:
		if path := fieldPath(e.AsSelect().Operand(), of); path != "" {
			return path + "." + e.AsSelect().FieldName()
		}
	}
	return ""
}

// equal calls visit with every resource that can match, until it returns false.
func (set *Resources) equal(work *wildcard.Meter, e equalities, visit func(*Resource) bool) {
	kinds := e.kinds
	if kinds == nil {
		kinds = set.sorted
	}
	for _, kind := range slices.Compact(slices.Sorted(slices.Values(kinds))) {
		of := set.kinds[kind]
		if of == nil {
			continue
		}
		if !work.Spend(1 + len(e.names) + len(e.namespaces)) {
			return
		}
		for _, list := range of.equal(kind, e) {
			for _, r := range list {
				if !work.Spend(1) || !visit(r) {
					return
				}
			}
		}
	}
}

// equal returns the resources of a kind that can match. A name that will be generated matches every
// name, and a missing namespace matches every namespace. The index by namespace contains Namespaces
// under their own names.
func (of *resourcesOfKind) equal(kind string, e equalities) [][]*Resource {
	index, texts, others := of.byName, e.names, of.generated
	if e.names == nil {
		index, texts, others = of.byNamespace, e.namespaces, of.byNamespace[""]
		if e.namespaces == nil || kind == "Namespace" {
			return [][]*Resource{of.all}
		}
	}
	lists := [][]*Resource{others}
	for _, text := range slices.Compact(slices.Sorted(slices.Values(texts))) {
		lists = append(lists, index[text])
	}
	return lists
}
