package trust

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// names are names and patterns in which * is any text, though no slash; "*"
// alone is everything. Nil sets no limit.
type names []string

var (
	namespaceForm = regexp.MustCompile(`^[a-z0-9*]([a-z0-9*-]*[a-z0-9*])?$`)
	policyForm    = regexp.MustCompile(`^([a-z0-9*]([a-z0-9*-]*[a-z0-9*])?/)?[a-z0-9*]([a-z0-9*.-]*[a-z0-9*])?$`)
	kindForm      = regexp.MustCompile(`^(\*|[A-Z][A-Za-z0-9]*(\.[a-z0-9]([a-z0-9.-]*[a-z0-9])?)?)$`)
)

var errNothing = errors.New("an empty list allows nothing: leave it out, or say what is meant")

// newNames checks a list. Nil is none; an empty one is an error, and so is a name
// that nothing has.
func newNames(what string, list []string, form *regexp.Regexp) (names, error) {
	if list == nil {
		return nil, nil
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: %w", what, errNothing)
	}
	for _, name := range list {
		if !form.MatchString(name) {
			return nil, fmt.Errorf("%s: %q is neither a name nor a pattern in which * is any text", what, name)
		}
	}
	return slices.Clone(list), nil
}

// newKindsIn checks a list of kinds that is never left to a default.
func newKindsIn(list []string) (*Kinds, error) {
	if _, err := newNames("kinds", list, kindForm); err != nil || list == nil {
		return nil, err
	}
	kinds, err := NewKinds(list)
	return &kinds, err
}

func (n names) everything() bool { return slices.Contains(n, "*") }

// include reports whether a name is one of these. What is itself a pattern is
// only part of everything.
func (n names) include(name string) bool {
	if n.everything() {
		return true
	}
	return !strings.ContainsAny(name, "*?") && slices.ContainsFunc(n, func(pattern string) bool { return fits(pattern, name) })
}

// fits reports whether a name fits a pattern, part by part between slashes.
func fits(pattern, name string) bool {
	patterns, parts := strings.Split(pattern, "/"), strings.Split(name, "/")
	return slices.EqualFunc(patterns, parts, fitsPart)
}

func fitsPart(pattern, name string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for {
		var next string
		if next, rest, wild = strings.Cut(rest, "*"); !wild {
			return strings.HasSuffix(name, next)
		}
		i := strings.Index(name, next)
		if i < 0 {
			return false
		}
		name = name[i+len(next):]
	}
}

func (n names) String() string { return strings.Join(n, ", ") }
