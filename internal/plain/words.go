package plain

import (
	"fmt"
	"unicode/utf8"
)

// Count returns a number with its noun: "1 commit", "2 commits".
func Count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// Cut shortens a text to most characters. A shortened text ends in "…".
func Cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:max(most-1, 0)]) + "…"
}
