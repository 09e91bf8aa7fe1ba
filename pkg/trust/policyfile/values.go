package policyfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// Values are allowed values. A file has one value or a list of them.
type Values []string

// Numbers are allowed whole numbers. A file has them as numbers or as text.
type Numbers []string

var wholeNumber = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

// UnmarshalJSON reads one value or a list of values.
func (v *Values) UnmarshalJSON(raw []byte) error {
	return read(raw, (*[]string)(v), func(json.RawMessage) bool { return false })
}

// UnmarshalJSON reads one number or a list of numbers.
func (n *Numbers) UnmarshalJSON(raw []byte) error {
	return read(raw, (*[]string)(n), func(item json.RawMessage) bool { return wholeNumber.Match(item) })
}

// read reads texts, and other values that are taken as they are written.
func read(raw []byte, into *[]string, asWritten func(json.RawMessage) bool) error {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		list = []json.RawMessage{raw}
	}
	*into = []string{}
	for _, item := range list {
		var text *string
		switch {
		case json.Unmarshal(item, &text) == nil && text != nil:
			*into = append(*into, *text)
		case asWritten(item):
			*into = append(*into, string(item))
		default:
			return fmt.Errorf("%s is not text: write it in quotes, or a list of texts", item)
		}
	}
	return nil
}

// MarshalJSON writes a single value as the value.
func (v Values) MarshalJSON() ([]byte, error) {
	if len(v) == 1 {
		return json.Marshal(v[0])
	}
	return json.Marshal([]string(v))
}

// check rejects an empty list, and an empty or repeated value.
func (v Values) check(what string) error {
	if len(v) == 0 || slices.Contains(v, "") {
		return fmt.Errorf("%s is empty: remove it, or give a value", what)
	}
	seen := map[string]bool{}
	for _, value := range v {
		if seen[value] {
			return fmt.Errorf("%s lists %q twice", what, value)
		}
		seen[value] = true
	}
	return nil
}

// OneOf is a set of exact texts. A comparison takes the same time for one and for many.
type OneOf struct {
	list []string
	set  map[string]bool
}

// NewOneOf returns the set of the values.
func NewOneOf(values []string) OneOf {
	o := OneOf{list: slices.Clone(values), set: make(map[string]bool, len(values))}
	for _, value := range values {
		o.set[value] = true
	}
	return o
}

// Has reports whether the text is in the set.
func (o OneOf) Has(text string) bool { return o.set[text] }

// Values returns the texts in the order of the policy.
func (o OneOf) Values() []string { return slices.Clone(o.list) }

// Only returns the text of a set with one text, else "".
func (o OneOf) Only() string {
	if len(o.list) == 1 {
		return o.list[0]
	}
	return ""
}

// String lists the first texts.
func (o OneOf) String() string { return o.listed("%s") }

// Quoted lists the first texts in quotes.
func (o OneOf) Quoted() string { return o.listed("%q") }

func (o OneOf) listed(verb string) string {
	const most = 3
	var texts []string
	for _, text := range o.list[:min(len(o.list), most)] {
		texts = append(texts, fmt.Sprintf(verb, text))
	}
	if more := len(o.list) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("%d others", more))
	}
	return strings.Join(texts, " or ")
}

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
