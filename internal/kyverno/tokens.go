package kyverno

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// token is a word, a text or a symbol of a CEL expression. The text of a literal is unescaped.
type token struct {
	kind tokenKind
	text string
}

type tokenKind uint8

const (
	symbol  tokenKind = iota
	word              // a name, a keyword or a number
	literal           // a text in quotes
)

func (t token) is(text string) bool { return t.kind == symbol && t.text == text }

var (
	errPrefix  = errors.New("a string with a prefix (r, b) is not supported")
	errTriple  = errors.New("a string between three quotes is not supported")
	errText    = errors.New("a string has no end, or an escape that is not supported")
	errSymbol  = errors.New("a character is not part of CEL, or not supported")
	errBracket = errors.New("its brackets do not match")
	errWork    = errors.New("together with the text before it, it is too long")
)

// tokenWork is the work to look at a token once.
const tokenWork = 16

// tokens splits an expression like CEL's lexer. A text that CEL may understand differently is an
// error, and so are brackets that do not match.
func tokens(work *wildcard.Meter, expression string) ([]token, error) {
	if !work.Spend(len(expression)) {
		return nil, errWork
	}
	var all []token
	var brackets []byte // the closing brackets that are expected
	for rest := expression; rest != ""; {
		t, size, err := next(rest)
		if err != nil {
			return nil, err
		}
		rest = rest[size:]
		if t.text == "" && t.kind != literal {
			continue
		}
		if !work.Spend(tokenWork) {
			return nil, errWork
		}
		all = append(all, t)
		if t.kind != symbol {
			continue
		}
		switch last := len(brackets) - 1; t.text {
		case "(", "[", "{":
			brackets = append(brackets, map[string]byte{"(": ')', "[": ']', "{": '}'}[t.text])
		case ")", "]", "}":
			if last < 0 || brackets[last] != t.text[0] {
				return nil, errBracket
			}
			brackets = brackets[:last]
		}
	}
	if len(brackets) > 0 {
		return nil, errBracket
	}
	return all, nil
}

// next reads one token. A space or comment is an empty token.
func next(rest string) (t token, size int, err error) {
	switch c := rest[0]; {
	case strings.IndexByte(" \t\r\n\f", c) >= 0:
		return token{}, 1, nil
	case strings.HasPrefix(rest, "//"): // only a line feed ends it
		line, _, _ := strings.Cut(rest, "\n")
		return token{}, len(line), nil
	case c == '\'' || c == '"':
		return text(rest)
	case isWord(c):
		for size < len(rest) && isWord(rest[size]) {
			size++
		}
		if size < len(rest) && (rest[size] == '\'' || rest[size] == '"') {
			return token{}, 0, errPrefix
		}
		return token{word, rest[:size]}, size, nil
	}
	for _, s := range []string{"==", "!=", "<=", ">=", "&&", "||"} {
		if strings.HasPrefix(rest, s) {
			return token{symbol, s}, len(s), nil
		}
	}
	if strings.IndexByte(".,()[]{}?:!<>+-*/%", rest[0]) < 0 {
		return token{}, 0, errSymbol
	}
	return token{symbol, rest[:1]}, 1, nil
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// text reads a literal in quotes. It supports the escapes on which Go and CEL agree. \x and octal
// escapes are characters in CEL.
func text(rest string) (t token, size int, err error) {
	quote := rest[0]
	if len(rest) > 2 && rest[1] == quote && rest[2] == quote {
		return token{}, 0, errTriple
	}
	var b strings.Builder
	for tail := rest[1:]; tail != ""; {
		switch c := tail[0]; c {
		case quote:
			return token{literal, b.String()}, len(rest) - len(tail) + 1, nil
		case '\n', '\r':
			return token{}, 0, errText
		case '\\':
			r, _, after, err := strconv.UnquoteChar(tail, quote)
			if err != nil {
				return token{}, 0, errText
			}
			b.WriteRune(r)
			tail = after
		default:
			r, width := utf8.DecodeRuneInString(tail)
			if r == utf8.RuneError {
				return token{}, 0, errText
			}
			b.WriteString(tail[:width])
			tail = tail[width:]
		}
	}
	return token{}, 0, errText
}

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
func shapeOf(parts []token) string { return written(parts, func(string) string { return "'" }) }

// written writes parts with spaces between them, and each literal as a function writes it.
func written(parts []token, quote func(string) string) string {
	words := make([]string, len(parts))
	for i, t := range parts {
		if words[i] = t.text; t.kind == literal {
			words[i] = quote(t.text)
		}
	}
	return strings.Join(words, " ")
}
