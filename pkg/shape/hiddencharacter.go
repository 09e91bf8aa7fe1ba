package shape

import (
	"fmt"
	"maps"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
)

const reasonHiddenCharacter = "hidden-character"

var hiddenCharacterCheck = check{
	About: "Finds characters that a reviewer cannot see, or sees in another order. Names must be printable ASCII, " +
		"because letters of other alphabets can look like Latin ones. In other texts, keys and comments, polex " +
		"finds characters without width, except for joiners, and those that change the direction of writing.",
	Reasons: []Reason{{Name: reasonHiddenCharacter, Doc: "a character is invisible or looks like another one"}},
	Run:     (*subject).hiddenCharacter,
}

func (s *subject) hiddenCharacter() {
	before := len(s.found)
	seen := map[string]bool{}
	for _, name := range s.identifiers() {
		for _, r := range name.Text {
			if r <= ' ' && r != ' ' || r > '~' {
				seen[name.Path.String()] = true
				s.find(reasonHiddenCharacter, name.Path,
					fmt.Sprintf("the name %+q contains the character %U, which is not printable ASCII", name.Text, r),
					"write the name in ASCII")
				break
			}
		}
	}
	source := s.Doc.Source()
	if isPlain(source) {
		return
	}
	s.hiddenIn(s.Doc.Object(), nil, seen)
	if len(s.found) > before {
		return
	}
	// Characters in values have been found above; the rest are in a comment or in the
	// layout.
	line, column := 0, 0
	for i := 0; i < len(source); {
		r, size := utf8.DecodeRune(source[i:])
		if hidden(r) {
			at := s.Doc.SourcePosition()
			if line == 0 {
				column += at.Column - 1
			}
			at.Line, at.Column = at.Line+line, column+1
			s.add(Finding{Reason: reasonHiddenCharacter, Position: at,
				Message: fmt.Sprintf("the character %U is invisible or changes the direction of the text", r),
				Hint:    "remove it"})
			return
		}
		i, column = i+size, column+1
		if r == '\n' {
			line, column = line+1, 0
		}
	}
}

// isPlain reports whether a source is ASCII without escapes, so that nothing can hide in it. It is
// false for an object in memory, which has no source.
func isPlain(source []byte) bool {
	for _, c := range source {
		if c >= utf8.RuneSelf || c == '\\' {
			return false
		}
	}
	return len(source) > 0
}

func hidden(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = '\u200c', '\u200d'
	return unicode.Is(unicode.Cf, r) && r != zeroWidthNonJoiner && r != zeroWidthJoiner
}

func (s *subject) hiddenIn(value any, path exception.Path, seen map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			s.hiddenText(key, path.With(key), "key", seen)
			s.hiddenIn(v[key], path.With(key), seen)
		}
	case []any:
		for i, item := range v {
			s.hiddenIn(item, path.With(i), seen)
		}
	case string:
		s.hiddenText(v, path, "text", seen)
	}
}

func (s *subject) hiddenText(text string, path exception.Path, what string, seen map[string]bool) {
	for _, r := range text {
		if hidden(r) {
			if !seen[path.String()] {
				seen[path.String()] = true
				s.find(reasonHiddenCharacter, path,
					fmt.Sprintf("the %s contains the character %U, which is invisible or changes the direction of "+
						"the text", what, r), "remove it")
			}
			return
		}
	}
}

// identifiers returns the texts that select something.
func (s *subject) identifiers() []kyverno.Located {
	names := []kyverno.Located{
		{Text: s.Stated.Identity.Name, Path: exception.Path{"metadata", "name"}},
		{Text: s.Stated.Identity.Namespace, Path: exception.Path{"metadata", "namespace"}},
	}
	for _, ref := range s.Refs {
		names = append(append(names, ref.Name, ref.Kind), ref.Rules...)
	}
	for _, f := range s.Match.Filters() {
		names = append(names, slices.Concat(f.Kinds, f.Named(), f.Namespaces)...)
	}
	return names
}
