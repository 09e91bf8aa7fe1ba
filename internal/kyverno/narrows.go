package kyverno

import (
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// Width is how much the match conditions of an exception leave over.
type Width uint8

// The widths. The zero value proves nothing.
const (
	Unproven Width = iota // in a form that is not recognised
	Narrow                // certain names, namespaces, or labels of certain kinds
	Wide                  // every resource, or every one of its kind
	AnyKind               // certain labels, of any kind
)

// WidthOf recognises what match conditions of policies.kyverno.io restrict. They are
// joined by "and". They are narrow if a part, by "&&", compares the name or the namespace
// with literals, or if one compares the kind and another one a label. Alternatives, by
// "||" or a ternary, have to be narrow each. They are wide where no part says anything
// of a resource but its kind, or what it is not. Nothing is evaluated.
func WidthOf(conditions []string) Width {
	all, work := aspects{wide: true}, wildcard.NewMeter()
	width := &reading[aspects]{
		work: work, both: aspects.and, either: aspects.or, alone: aspectsOfPart,
		otherwise: func([]token) aspects { return aspects{wide: true} },
	}
	for _, text := range conditions {
		parts, err := tokens(work, text)
		if err != nil || len(text) > maxExpression {
			return Unproven
		}
		all = all.and(width.of(parts, maxNesting))
	}
	switch {
	case all.isNarrow():
		return Narrow
	case all.wide:
		return Wide
	case all.label && !all.kind:
		return AnyKind
	}
	return Unproven
}

// Mentions reports whether a condition names one of the variables that it is about.
// One that cannot be read does.
func Mentions(condition string) bool {
	parts, err := tokens(wildcard.NewMeter(), condition)
	return err != nil || slices.ContainsFunc(parts, isVariable)
}

func isVariable(t token) bool {
	return t.kind == word && slices.Contains([]string{"object", "oldObject", "request", "namespaceObject"}, t.text)
}

// aspects are what a part of the conditions says. The zero value is not recognised.
type aspects struct {
	place, kind, label bool // it restricts the name or namespace; the kind; a label
	wide               bool // it restricts nothing but a kind
}

func (a aspects) isNarrow() bool { return a.place || a.kind && a.label }

func (a aspects) and(b aspects) aspects {
	return aspects{a.place || b.place, a.kind || b.kind, a.label || b.label, a.wide && b.wide}
}

func (a aspects) or(b aspects) aspects {
	return aspects{a.isNarrow() && b.isNarrow(), a.kind && b.kind, a.label && b.label, a.wide || b.wide}
}

// aspectsOfPart looks at what is joined by no operator.
func aspectsOfPart(parts []token) aspects {
	if isLabel(parts) {
		return aspects{label: true}
	}
	path, patterns := comparison(parts)
	f, known := fields[path]
	switch restricts := len(patterns) > 0 && !slices.ContainsFunc(patterns, func(p string) bool { return p == "" || wildcard.Only(p) }); {
	case known && restricts && f.dimension != exceptions:
		return aspects{place: true}
	case known && restricts:
		return aspects{kind: strings.HasSuffix(path, " . kind") || strings.HasSuffix(path, " . resource"), wide: true}
	}
	return aspects{wide: leavesOpen(parts)}
}

// Labels that are asked for, and one that is compared with literals, as shapeOf writes them.
var (
	labels       = `(?:(?:request \. )?object|namespaceObject) \. metadata \. (?:\? )?labels`
	compared     = `(?: == '| in \[ '(?: , ')* \]| \. startsWith \( ' \))`
	labelAsked   = regexp.MustCompile(`^(?:' in ` + labels + `|has \( ` + labels + ` \. \w+ \))$`)
	labelCompare = regexp.MustCompile(`^` + labels + `(?: \. (?:\? )?\w+| \[ (?:\? )?' \])( \. orValue \( ' \))?` + compared + `$`)
)

// isLabel reports whether a part asks for a label, or compares one with literals that are
// neither empty nor what it has otherwise.
func isLabel(parts []token) bool {
	shape, texts, otherwise := shapeOf(parts), literals(parts), ""
	if labelAsked.MatchString(shape) {
		return !slices.Contains(texts, "")
	}
	found := labelCompare.FindStringSubmatch(shape)
	if found == nil || strings.Contains(shape, " ? ") != (found[1] != "") { // an optional one has an orValue, and no other
		return false
	}
	if strings.Contains(shape, "labels [") {
		texts = texts[1:] // behind the key
	}
	if found[1] != "" {
		otherwise, texts = texts[0], texts[1:]
	}
	return len(texts) > 0 && !beginsWithAny(otherwise, texts)
}

// beginsWithAny reports whether a text is one of others, or begins with one.
func beginsWithAny(text string, others []string) bool {
	return slices.ContainsFunc(others, func(other string) bool { return strings.HasPrefix(text, other) })
}

func literals(parts []token) (texts []string) {
	for _, t := range parts {
		if t.kind == literal {
			texts = append(texts, t.text)
		}
	}
	return texts
}

// leavesOpen reports whether a part says nothing of the resource but its kind, which
// operation is asked for, whether it has some field, or what it is not.
func leavesOpen(parts []token) bool {
	if path, ok := strings.CutSuffix(shapeOf(parts), " != '"); ok && fields[path].dimension != exceptions {
		return true
	}
	if len(parts) > 1 && parts[0].is("!") {
		inner, ok := unwrapped(parts[1:])
		if !ok {
			inner = parts[1:]
		}
		is := aspectsOfPart(inner)
		return is.place || is.label || is.wide
	}
	for i, t := range parts {
		if !isVariable(t) {
			continue
		}
		switch p := pathFrom(parts, i); {
		case p.isNull, p.isAsked:
		case t.text == "request" && p.step(0) == "operation":
		case t.text == "object" && (p.step(0) == "kind" || p.step(0) == "apiVersion"):
		case t.text == "request" && slices.Contains([]string{"kind", "requestKind", "resource", "requestResource"}, p.step(0)):
		default:
			return false
		}
	}
	return true
}
