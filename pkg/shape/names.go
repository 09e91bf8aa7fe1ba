package shape

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
)

// Reasons of findings.
const (
	reasonHiddenCharacter = "hidden-character"
	reasonLookAlike       = "look-alike"
)

var hiddenCharacterCheck = check{
	About: "Finds characters that a reviewer cannot see, or sees in another order. Names must be printable ASCII, " +
		"because letters of other alphabets can look like Latin ones. In other texts, keys and comments, polex " +
		"finds characters without width, except for joiners, and those that change the direction of writing.",
	Reasons: []Reason{{Name: reasonHiddenCharacter, Doc: "a character is invisible or looks like another one"}},
	Run: func(s *subject) {
		before := len(s.found)
		seen := map[string]bool{}
		for _, name := range s.identifiers() {
			for _, r := range name.Text {
				if r <= ' ' && r != ' ' || r > '~' {
					seen[name.Path.String()] = true
					s.find(reasonHiddenCharacter, name.Path, "write the name in ASCII",
						"the name %+q contains the character %U, which is not printable ASCII", name.Text, r)
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
		// Characters in values have been found above; the rest are in a comment or in the layout.
		at := s.Doc.SourcePosition()
		for i, line := range strings.Split(string(source), "\n") {
			for j, r := range []rune(line) {
				if hidden(r) {
					if i > 0 {
						at.Line, at.Column = at.Line+i, 1
					}
					at.Column += j
					s.add(Finding{Reason: reasonHiddenCharacter, Position: at, Hint: "remove it",
						Message: fmt.Sprintf("the character %U is invisible or changes the direction of the text", r)})
					return
				}
			}
		}
	},
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
	look := func(text string, path exception.Path, what string) {
		at := slices.IndexFunc([]rune(text), hidden)
		if at < 0 || seen[path.String()] {
			return
		}
		seen[path.String()] = true
		s.find(reasonHiddenCharacter, path, "remove it", "the %s contains the character %U, which is invisible or "+
			"changes the direction of the text", what, []rune(text)[at])
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			look(key, path.With(key), "key")
			s.hiddenIn(v[key], path.With(key), seen)
		}
	case []any:
		for i, item := range v {
			s.hiddenIn(item, path.With(i), seen)
		}
	case string:
		look(v, path, "text")
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

var lookAlikeCheck = check{
	About: "Finds two names that differ only in letter case or white space, in one list or in one field of the " +
		"entries of a list. A reader takes them for one name. Also finds a name that begins or ends with white space.",
	Reasons: []Reason{{Name: reasonLookAlike, Doc: "two names look the same to a reader"}},
	Run: func(s *subject) {
		first := map[[2]string]string{} // by path, without letter case and space
		for _, name := range s.identifiers() {
			plain := [2]string{lookedAtWith(name.Path), strings.ToLower(strings.Trim(name.Text, " "))}
			switch earlier, met := first[plain]; {
			case strings.Trim(name.Text, " ") != name.Text:
				s.find(reasonLookAlike, name.Path, "remove the white space",
					"the name %q begins or ends with white space", name.Text)
			case met && earlier != name.Text:
				s.find(reasonLookAlike, name.Path, "keep the spelling of the resource or policy",
					"%q and %q differ only in letter case", name.Text, earlier)
			case !met:
				first[plain] = name.Text
			}
		}
	},
}

// lookedAtWith returns a key for the names that a reader compares with this one: those of the same
// list, or of the same field in the other entries. So the kind Pod does not look like a resource
// called pod, nor a rule like one of another policy.
func lookedAtWith(path exception.Path) string {
	if last := len(path) - 1; last >= 0 {
		if _, inList := path[last].(int); inList {
			return path[:last].String()
		}
	}
	var fields exception.Path
	for _, step := range path {
		if _, isIndex := step.(int); !isIndex {
			fields = append(fields, step)
		}
	}
	return fields.String()
}
