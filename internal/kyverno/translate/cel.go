package translate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// Regular expressions for "?". "*" is any number of them.
const (
	inName = "."      // a name has no line ends
	inFree = "(?s:.)" // other texts may have line ends
	inPart = "[^/]"   // of apiVersion
)

// regular converts a pattern to a regular expression without anchors.
func regular(pattern, one string) string {
	var b strings.Builder
	for _, r := range pattern {
		switch r {
		case '*':
			b.WriteString(one + "*")
		case '?':
			b.WriteString(one)
		case '.':
			b.WriteString("[.]") // equal to \., and easier to read in a literal
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return b.String()
}

// anyText reports whether a pattern matches every text, including the empty one.
func anyText(pattern string) bool { return pattern != "" && strings.Trim(pattern, "*") == "" }

// test compares a CEL text with a pattern.
func test(value, pattern, one string) string {
	if !wildcard.In(pattern) {
		return value + " == " + celText(pattern)
	}
	return value + ".matches(" + celText("^"+regular(pattern, one)+"$") + ")"
}

// among compares a CEL name with patterns of which one has to match. It returns "" if one of them
// matches every text.
func among(value string, patterns []string) string {
	if slices.ContainsFunc(patterns, anyText) {
		return ""
	}
	var exact, either []string
	for _, p := range patterns {
		if wildcard.In(p) {
			either = append(either, test(value, p, inName))
		} else {
			exact = append(exact, celText(p))
		}
	}
	switch len(exact) {
	case 0:
	case 1:
		either = slices.Insert(either, 0, value+" == "+exact[0])
	default:
		either = slices.Insert(either, 0, value+" in ["+strings.Join(exact, ", ")+"]")
	}
	return anyOf(either)
}

// present is among for a field that may be absent. An absent field is treated as empty.
func present(field string, patterns []string) string {
	condition := among(field, patterns)
	switch {
	case condition == "":
		return ""
	case slices.ContainsFunc(patterns, func(p string) bool { return wildcard.Fits(p, "") }):
		return fmt.Sprintf("(!has(%s) || %s)", field, condition)
	default:
		return fmt.Sprintf("has(%s) && %s", field, condition)
	}
}

func anyOf(conditions []string) string {
	if len(conditions) < 2 {
		return strings.Join(conditions, "")
	}
	return "(" + strings.Join(conditions, " || ") + ")"
}

// celText writes a CEL literal in plain ASCII.
func celText(text string) string {
	quoted := strconv.QuoteToASCII(text)
	inner := strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	return "'" + strings.ReplaceAll(inner, "'", `\'`) + "'"
}
