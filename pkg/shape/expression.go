package shape

import "strings"

// This file reads just enough of CEL to tell a constant condition from one that
// says something. It does not evaluate: whether an expression is well formed is
// for Kyverno to say.

// span is a stretch of an expression: a string literal, or what stands between
// two of them.
type span struct {
	text    string // of a literal: what is between its quotes
	literal bool
}

// spans cuts an expression into literals and code, comments left out.
func spans(expression string) []span {
	var out []span
	code := strings.Builder{}
	flush := func() {
		if code.Len() > 0 {
			out = append(out, span{text: code.String()})
			code.Reset()
		}
	}
	for i := 0; i < len(expression); {
		rest := expression[i:]
		switch {
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			i += end
		case rest[0] == '"' || rest[0] == '\'':
			text, length := literal(rest)
			flush()
			out = append(out, span{text: text, literal: true})
			i += length
		default:
			code.WriteByte(rest[0])
			i++
		}
	}
	flush()
	return out
}

// literal reads a string literal, which may be quoted three times, and returns
// what is in it, escapes as they are, and how long it is.
func literal(text string) (content string, length int) {
	quote := text[:1]
	if strings.HasPrefix(text, strings.Repeat(quote, 3)) {
		quote = text[:3]
	}
	for i := len(quote); i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case strings.HasPrefix(text[i:], quote):
			return text[len(quote):i], i + len(quote)
		}
	}
	return text[len(quote):], len(text)
}

func literals(expression string) []string {
	var out []string
	for _, s := range spans(expression) {
		if s.literal {
			out = append(out, s.text)
		}
	}
	return out
}

// alwaysTrue reports whether an expression is plainly true of anything: true, a
// comparison of something with itself, and what "!", "&&", "||" and parentheses
// make of them.
func alwaysTrue(expression string) bool {
	// Literals become words that hold no operator. Equal ones become the same.
	words := map[string]string{}
	var plain strings.Builder
	for _, s := range spans(expression) {
		if !s.literal {
			plain.WriteString(s.text)
			continue
		}
		if words[s.text] == "" {
			words[s.text] = "\x00" + strings.Repeat("i", len(words)+1) + "\x00"
		}
		plain.WriteString(words[s.text])
	}
	return constant(strings.Join(strings.Fields(plain.String()), ""), true, maxExpressionDepth)
}

const maxExpressionDepth = 32

// constant reports whether an expression without white space and literals is
// plainly the value wanted.
func constant(e string, want bool, depth int) bool {
	if depth == 0 {
		return false
	}
	if inner, ok := unwrapped(e); ok {
		return constant(inner, want, depth-1)
	}
	for _, operator := range []string{"||", "&&"} {
		parts := cut(e, operator)
		if len(parts) == 1 {
			continue
		}
		// One true operand makes an "or" true; it takes all for an "and".
		one := (operator == "||") == want
		for _, part := range parts {
			if constant(part, want, depth-1) == one {
				return one
			}
		}
		return !one
	}
	if parts := cut(e, "=="); len(parts) == 2 {
		return want && parts[0] == parts[1]
	}
	if parts := cut(e, "!="); len(parts) == 2 {
		return !want && parts[0] == parts[1]
	}
	if strings.HasPrefix(e, "!") {
		return constant(e[1:], !want, depth-1)
	}
	return want && e == "true" || !want && e == "false"
}

// unwrapped takes off parentheses that hold the whole expression.
func unwrapped(e string) (string, bool) {
	if !strings.HasPrefix(e, "(") || !strings.HasSuffix(e, ")") {
		return "", false
	}
	depth := 0
	for i := range len(e) {
		switch e[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 && i < len(e)-1 {
			return "", false
		}
	}
	return e[1 : len(e)-1], true
}

// cut splits an expression at an operator outside of brackets.
func cut(e, operator string) []string {
	var parts []string
	depth, start := 0, 0
	for i := 0; i < len(e); i++ {
		switch e[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth == 0 && strings.HasPrefix(e[i:], operator) {
			parts = append(parts, e[start:i])
			i += len(operator) - 1
			start = i + 1
		}
	}
	return append(parts, e[start:])
}
