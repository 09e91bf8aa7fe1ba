package wildcard

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Names are names and patterns that a trusted file lists: those of a trust policy and of
// a configuration. Letter case counts, and a pattern fits part by part between slashes.
type Names []string

// NamespaceForm is how a namespace, or a pattern of namespaces, is written.
var NamespaceForm = regexp.MustCompile(`^[a-z0-9*?]([a-z0-9*?-]*[a-z0-9*?])?$`)

// Check returns an error for the first that is written otherwise than the form.
func (n Names) Check(form *regexp.Regexp) error {
	for _, name := range n {
		if !form.MatchString(name) {
			return fmt.Errorf("%q is neither a name nor a pattern, in which * is any text and ? any one character", name)
		}
	}
	return nil
}

// All reports whether "*" is among the names.
func (n Names) All() bool { return slices.Contains(n, "*") }

// Include reports whether a name is one of these, or fits one. What is itself a pattern
// is only part of "*".
func (n Names) Include(name string) bool {
	return n.All() || !In(name) && slices.ContainsFunc(n, func(pattern string) bool { return fitsParts(pattern, name) })
}

func fitsParts(pattern, name string) bool {
	return slices.EqualFunc(strings.Split(pattern, "/"), strings.Split(name, "/"), Fits)
}

// String lists the names.
func (n Names) String() string { return strings.Join(n, ", ") }
