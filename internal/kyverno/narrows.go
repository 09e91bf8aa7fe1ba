package kyverno

import (
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// Width is the range of resources that match conditions select.
type Width uint8

// The widths. The zero value proves nothing.
const (
	Unproven Width = iota // in a form that is not recognised
	Narrow                // certain names or namespaces, or labels of certain kinds
	Wide                  // every resource, or every resource of a kind
	AnyKind               // certain labels, of any kind
)

// WidthOf determines the width of match conditions of policies.kyverno.io, which "and" joins. It evaluates nothing.
//
//   - They are narrow if a part compares the name or the namespace with literals, or if one part
//     compares the kind and another one a label. && joins parts.
//   - Alternatives (|| or a ternary) are narrow only if each of them is.
//   - They are wide if all parts restrict at most the kind, or only exclude resources.
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

// Mentions reports whether a condition names a variable about the resource or the request, or cannot be read.
func Mentions(condition string) bool {
	parts, err := tokens(wildcard.NewMeter(), condition)
	return err != nil || slices.ContainsFunc(parts, isVariable)
}

func isVariable(t token) bool {
	return t.kind == word && slices.Contains([]string{"object", "oldObject", "request", "namespaceObject"}, t.text)
}

// aspects are the restrictions of a part. The zero value means that it is not recognised.
type aspects struct {
	place, kind, label bool // it restricts the name or namespace; the kind; a label
	wide               bool // it restricts at most the kind
}

func (a aspects) isNarrow() bool { return a.place || a.kind && a.label }

func (a aspects) and(b aspects) aspects {
	return aspects{a.place || b.place, a.kind || b.kind, a.label || b.label, a.wide && b.wide}
}

func (a aspects) or(b aspects) aspects {
	return aspects{a.isNarrow() && b.isNarrow(), a.kind && b.kind, a.label && b.label, a.wide || b.wide}
}

// aspectsOfPart determines the aspects of a part without operators.
func aspectsOfPart(parts []token) aspects {
	if isLabel(parts) {
		return aspects{label: true}
	}
	if _, joined := joinedNamespaces(parts); joined {
		return aspects{place: true}
	}
	if found := matchesAny.FindStringSubmatch(shapeOf(parts)); found != nil &&
		fields[found[1]].dimension != exceptions &&
		slices.Contains([]string{"", ".*", "^.*", ".*$", "^.*$", "^", "$"}, literals(parts)[0]) {
		return aspects{wide: true}
	}
	path, patterns := comparison(parts)
	f, known := fields[path]
	switch restricts := len(patterns) > 0 &&
		!slices.ContainsFunc(patterns, func(p string) bool { return p == "" || wildcard.Only(p) }); {
	case known && restricts && f.dimension != exceptions:
		return aspects{place: true}
	case known && restricts:
		return aspects{kind: strings.HasSuffix(path, " . kind") || strings.HasSuffix(path, " . resource"), wide: true}
	}
	return aspects{wide: leavesOpen(parts)}
}

// The tests for labels, and the comparisons of a label with literals, as shapeOf writes them.
var (
	labels       = `(?:(?:request \. )?object|namespaceObject) \. metadata \. (?:\? )?labels`
	compared     = `(?: == '| in \[ '(?: , ')* \]| \. startsWith \( ' \))`
	labelAsked   = regexp.MustCompile(`^(?:' in ` + labels + `|has \( ` + labels + ` \. \w+ \))$`)
	labelCompare = regexp.MustCompile(`^` + labels + `(?: \. (?:\? )?\w+| \[ (?:\? )?' \])( \. orValue \( ' \))?` +
		compared + `$`)
)

// matchesAny are the tests for a part of a text, which may be true for every text.
var matchesAny = regexp.MustCompile(`^(.*) \. (?:contains|startsWith|endsWith|matches) \( ' \)$`)

// isLabel reports whether a part tests for a label, or compares one with literals. The literals
// must not be empty, and must not match the value of orValue.
func isLabel(parts []token) bool {
	shape, texts, otherwise := shapeOf(parts), literals(parts), ""
	if labelAsked.MatchString(shape) {
		return !slices.Contains(texts, "")
	}
	found := labelCompare.FindStringSubmatch(shape)
	if found == nil || strings.Contains(shape, " ? ") != (found[1] != "") { // only an optional field has an orValue
		return false
	}
	if strings.Contains(shape, "labels [") {
		texts = texts[1:] // skip the key
	}
	if found[1] != "" {
		otherwise, texts = texts[0], texts[1:]
	}
	return len(texts) > 0 && !beginsWithAny(otherwise, texts)
}

// beginsWithAny reports whether a text begins with one of the others.
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

// leavesOpen reports whether a part restricts at most the kind, the operation or the presence of a
// field, or only excludes resources.
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
		case t.text == "request" && slices.Contains([]string{"kind", "requestKind", "resource", "requestResource"},
			p.step(0)):
		default:
			return false
		}
	}
	return true
}
