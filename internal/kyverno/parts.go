package kyverno

import (
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// A reading computes a result for a condition from the results of its parts.
type reading[T any] struct {
	work    *wildcard.Meter
	unknown T // for a part that is not read; it proves nothing
	// both combines two parts that are true, either combines alternatives.
	both, either func(T, T) T
	// alone is for a part without operators, otherwise for the case that a condition is false.
	alone, otherwise func([]token) T
}

// of splits a condition by the precedence of CEL: a ternary binds loosest, then ||, then &&.
func (r *reading[T]) of(parts []token, nesting int) T {
	if len(parts) == 0 || nesting == 0 || !r.work.Spend(len(parts)*tokenWork) {
		return r.unknown
	}
	if inner, ok := unwrapped(parts); ok {
		return r.of(inner, nesting-1)
	}
	if asked := split(parts, "?", 2); len(asked) > 1 {
		answers := split(asked[1], ":", 2)
		if len(answers) < 2 {
			return r.unknown
		}
		if never := answers[1]; len(never) == 1 && never[0] == (token{word, "false"}) {
			return r.both(r.of(asked[0], nesting), r.of(answers[0], nesting))
		}
		return r.either(r.both(r.of(asked[0], nesting), r.of(answers[0], nesting)),
			r.both(r.otherwise(asked[0]), r.of(answers[1], nesting-1)))
	}
	for _, by := range []struct {
		operator string
		join     func(T, T) T
	}{{"||", r.either}, {"&&", r.both}} {
		if pieces := split(parts, by.operator, -1); len(pieces) > 1 {
			all := r.of(pieces[0], nesting)
			for _, one := range pieces[1:] {
				all = by.join(all, r.of(one, nesting))
			}
			return all
		}
	}
	if body, ok := ofBoth(parts); ok {
		return r.of(body, nesting-1)
	}
	if !r.work.Spend(len(parts) * tokenWork * 2) {
		return r.unknown
	}
	return r.alone(parts)
}

// split splits at an operator outside of brackets, into a maximum number of pieces; -1: no maximum.
// The question mark of object.?field is not an operator.
func split(parts []token, operator string, most int) [][]token {
	var cut [][]token
	depth, start := 0, 0
	for i, t := range parts {
		switch {
		case t.kind != symbol:
		case t.is("("), t.is("["), t.is("{"):
			depth++
		case t.is(")"), t.is("]"), t.is("}"):
			depth--
		case depth == 0 && t.text == operator && (i == 0 || !parts[i-1].is(".")) && len(cut) != most-1:
			cut, start = append(cut, parts[start:i]), i+1
		}
	}
	return append(cut, parts[start:])
}

// unwrapped removes parentheses around a whole part.
func unwrapped(parts []token) (inner []token, ok bool) {
	last := len(parts) - 1
	if last < 1 || !parts[0].is("(") || !parts[last].is(")") {
		return nil, false
	}
	depth := 0
	for i, t := range parts {
		if t.is("(") {
			depth++
		} else if t.is(")") {
			depth--
		}
		if depth == 0 && i < last {
			return nil, false
		}
	}
	return parts[1:last], true
}

// oneOfBoth is the form in which polex-validate --fix writes a condition on the deleted object, or
// else on the created or updated one.
const oneOfBoth = "[ request . operation == ' ? oldObject : object ] . exists"

// ofBoth returns the condition in such a part, with object as its variable. The list has only this
// element, so the value of the condition is the same.
func ofBoth(parts []token) (body []token, ok bool) {
	head := strings.Count(oneOfBoth, " ") + 1
	if len(parts) <= head || shapeOf(parts[:head]) != oneOfBoth || parts[5].text != "DELETE" {
		return nil, false
	}
	it := token{word, "it"}
	body, ok = unwrapped(parts[head:])
	if !ok || len(body) < 2 || body[0] != it || !body[1].is(",") {
		return nil, false
	}
	body = slices.Clone(body[2:])
	for i, t := range body {
		if t == it {
			body[i].text = "object"
		}
	}
	return body, true
}

// shapeOf writes parts with a quote for each literal.
func shapeOf(parts []token) string {
	words := make([]string, len(parts))
	for i, t := range parts {
		words[i] = t.text
		if t.kind == literal {
			words[i] = "'"
		}
	}
	return strings.Join(words, " ")
}
