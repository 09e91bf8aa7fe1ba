package kyverno

import (
	"errors"
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
