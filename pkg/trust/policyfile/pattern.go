package policyfile

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

const maxPattern = 1024 // characters

// patternSubject makes a subject of a regular expression, and anchors it at both ends. The host or
// domain must be literal: otherwise somebody with an identity at another host could match.
func patternSubject(expression string) (*Subject, error) {
	if len(expression) > maxPattern {
		return nil, fmt.Errorf("subjectRegexp is longer than %d characters", maxPattern)
	}
	if err := checkText("subjectRegexp", expression); err != nil {
		return nil, err
	}
	dotted := literalDots(expression)
	// Parse it without the group first: "a)|(b" would compile inside the group, and mean something
	// else.
	tree, err := syntax.Parse(dotted, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("subjectRegexp: %w", err)
	}
	pattern, err := regexp.Compile("^(?:" + dotted + ")$")
	if err != nil {
		return nil, fmt.Errorf("subjectRegexp: %w", err)
	}
	beginning, _ := literalEdge(tree, false)
	end, _ := literalEdge(tree, true)
	switch {
	case literalPlace.MatchString(beginning):
		return &Subject{Pattern: pattern, Type: TypeURI}, nil
	case !speaksOfAddress(expression) && literalDomain.MatchString(end):
		return &Subject{Pattern: pattern, Type: TypeEmail}, nil
	default:
		return nil, fmt.Errorf("subjectRegexp %q would match identities of any host: %w", expression, errUnanchored)
	}
}

var errUnanchored = errors.New("begin it with scheme, host and slash, as https://github.com/acme/.* does, " +
	"or end it with the domain of mailboxes, as .*@acme.example does, and write another authority for another place")

var (
	literalPlace  = regexp.MustCompile(`^[a-z][a-z0-9+.-]*://[A-Za-z0-9._-]+(:[0-9]+)?/`)
	literalDomain = regexp.MustCompile(`@[A-Za-z0-9._-]+$`)
)

// literalEdge returns the literal text with which every match begins, or ends if end is set. whole
// reports whether that is the complete match. The text can be shorter than possible; then the
// pattern is rejected. Anchors only narrow a pattern, so they count as empty.
func literalEdge(re *syntax.Regexp, end bool) (text string, whole bool) {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return "", false // (?i) also matches other letters
		}
		return string(re.Rune), true
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText:
		return "", true
	case syntax.OpCapture:
		return literalEdge(re.Sub[0], end)
	case syntax.OpPlus:
		text, _ = literalEdge(re.Sub[0], end)
		return text, false
	case syntax.OpConcat:
		parts := re.Sub
		if end {
			parts = slices.Clone(parts)
			slices.Reverse(parts)
		}
		for _, part := range parts {
			more, whole := literalEdge(part, end)
			if end {
				text = more + text
			} else {
				text += more
			}
			if !whole {
				return text, false
			}
		}
		return text, true
	case syntax.OpAlternate:
		text, whole = literalEdge(re.Sub[0], end)
		for _, branch := range re.Sub[1:] {
			other, wholeOther := literalEdge(branch, end)
			shared := common(text, other, end)
			whole = whole && wholeOther && shared == text && shared == other
			text = shared
		}
		return text, whole
	default:
		return "", false
	}
}

// common returns the common beginning of two texts, or their common end.
func common(a, b string, end bool) string {
	n := 0
	for n < len(a) && n < len(b) {
		if !end && a[n] != b[n] || end && a[len(a)-1-n] != b[len(b)-1-n] {
			break
		}
		n++
	}
	if end {
		return a[len(a)-n:]
	}
	return a[:n]
}

var (
	// A host with the slash behind it, and a domain at the end of the pattern or of a branch. Both
	// contain literal names only, so no operator is changed.
	hostInPattern   = regexp.MustCompile(`[a-z][a-z0-9+.-]*\\?:(?:\\?/){2}(?:[A-Za-z0-9:_-]|\\?\.|\\-)+\\?/`)
	domainInPattern = regexp.MustCompile(`@(?:[A-Za-z0-9_-]|\\?\.|\\-)+(?:\)*(?:\$|\\z|\||$))`)
	dot             = regexp.MustCompile(`\\?\.`)
)

// literalDots escapes the dots of hosts and domains. In https://github.com/acme/.* the author does
// not want to match githubXcom.
func literalDots(expression string) string {
	place := domainInPattern
	if speaksOfAddress(expression) {
		place = hostInPattern
	}
	return place.ReplaceAllStringFunc(expression,
		func(part string) string { return dot.ReplaceAllLiteralString(part, `\.`) })
}

// speaksOfAddress reports whether a pattern is for URIs. Many people escape the slashes.
func speaksOfAddress(expression string) bool {
	return strings.Contains(strings.ReplaceAll(expression, `\`, ""), "://")
}
