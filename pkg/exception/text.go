package exception

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// checkText rejects text that is not plain, before a parser sees it. Only some readers know the
// line breaks lone carriage return, U+0085, U+2028 and U+2029. With them, one reader could see a
// line, and so a key or a whole document, that another does not.
func checkText(chunk []byte, at Position) error {
	line, column, digits, long := at.Line, at.Column, 0, 0
	for i := 0; i < len(chunk); {
		b := chunk[i]
		if b >= '0' && b <= '9' || b == '.' || b == '_' {
			digits++
		} else {
			digits = 0
		}
		if digits > 32 {
			long++
		}
		if digits > maxDigits || long > maxLongDigits {
			return &SyntaxError{Position: Position{at.File, line, column},
				Message: fmt.Sprintf("more than %d digits in a row, or many long rows", maxDigits),
				Hint:    "is this a YAML or JSON file?"}
		}
		if b >= ' ' && b < 0x7f {
			i++
			column++
			continue
		}
		r, size := utf8.DecodeRune(chunk[i:])
		problem, hint := "", ""
		switch {
		case r == utf8.RuneError && size == 1:
			problem, hint = "the text is not UTF-8", "is this a YAML or JSON file?"
		case r == '\r' && (i+1 >= len(chunk) || chunk[i+1] != '\n'):
			problem = "a carriage return without a newline behind it"
			hint = `write it as "\r" in quotes, or end lines with a newline`
		case r == '\u0085' || r == '\u2028' || r == '\u2029':
			problem, hint = fmt.Sprintf("the line separator %U",
				r), "write it as an escape in quotes; only some readers take it for the end of a line"
		case r == '\uFEFF':
			problem, hint = "a byte order mark", "save the file as UTF-8 without one"
		case r < ' ' && r != '\n' && r != '\t' && r != '\r', r == 0x7f:
			problem, hint = fmt.Sprintf("the control character %U", r), "is this a YAML or JSON file?"
		}
		if problem != "" {
			return &SyntaxError{Position: Position{at.File, line, column}, Message: problem, Hint: hint}
		}
		i += size
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
	}
	return nil
}

// checkMarkers rejects a line that begins with "---" and has more than a comment. YAML reads a
// document, a key or text there; kubectl reads a separator, or nothing.
func checkMarkers(chunk []byte, at Position) error {
	line := at.Line
	for text := range bytes.Lines(chunk) {
		if rest, marker := bytes.CutPrefix(text, []byte("---")); marker {
			comment := bytes.TrimLeft(rest, " \t\r\n")
			if len(comment) > 0 && (comment[0] != '#' || len(comment) == len(rest)) {
				return &SyntaxError{Position: Position{at.File, line, 1},
					Message: `a line that begins with "---" separates documents, and nothing but a comment may follow`,
					Hint:    "put the document on the next line, or the text in quotes"}
			}
		}
		line++
	}
	return nil
}

// TooManyNodes reports whether YAML or JSON has more separators, indicators and lines than most.
// Every value except the first needs one, so this limits a parser's work before it runs. Those
// inside texts and comments count too.
func TooManyNodes(raw []byte, most int) bool { return nodesIn(raw) > most }

func nodesIn(raw []byte) int {
	n := 0
	for _, c := range raw {
		n += separators[c]
	}
	return n
}

// separators has 1 for each byte that TooManyNodes counts. A table is several times faster than a
// switch.
var separators = [256]int{',': 1, ':': 1, '-': 1, '?': 1, '[': 1, '{': 1, '#': 1, '\n': 1}

func checkNodes(chunk []byte, at Position, most int) error {
	what := "values, lines and separators"
	if !TooManyNodes(chunk, most) {
		if most > MaxNodes || wordsIn(chunk) <= maxWords {
			return nil
		}
		most, what = maxWords, "words, backslashes and quotes"
	}
	return &SyntaxError{Position: Position{at.File, at.Line, 1},
		Message: fmt.Sprintf("the document has more than %d %s", most, what),
		Hint:    "an exception has a few hundred; is this the right file?"}
}

// wordsIn returns the number of words, as spaces separate them, of backslashes and of single quotes.
func wordsIn(chunk []byte) int {
	n, space := 0, true
	for _, c := range chunk {
		if space && c != ' ' || c == '\\' || c == '\'' {
			n++
		}
		space = c == ' '
	}
	return n
}
