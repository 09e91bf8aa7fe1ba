package policyfile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// Names are names and patterns; "*" alone matches everything. Nil sets no limit.
type Names = wildcard.Names

var (
	policyForm = regexp.MustCompile(`^([a-z0-9*?]([a-z0-9*?-]*[a-z0-9*?])?/)?[a-z0-9*?]([a-z0-9*?.-]*[a-z0-9*?])?$`)
	kindForm   = regexp.MustCompile(`^(\*|[A-Z][A-Za-z0-9]*(\.[a-z0-9]([a-z0-9.-]*[a-z0-9])?)?)$`)
)

var errNothing = errors.New("an empty list allows nothing: remove it, or list values")

// newNames checks a list. Nil stays nil. An empty list is an error, and so is a name that can never
// match.
func newNames(what string, list Names, form *regexp.Regexp) (Names, error) {
	if list == nil {
		return nil, nil
	}
	err := list.Check(form)
	if len(list) == 0 {
		err = errNothing
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return slices.Clone(list), nil
}

// newKindsIn checks a list of kinds without a default.
func newKindsIn(list []string) (*Kinds, error) {
	if _, err := newNames("kinds", list, kindForm); err != nil || list == nil {
		return nil, err
	}
	kinds, err := NewKinds(list)
	return &kinds, err
}
