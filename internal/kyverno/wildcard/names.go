package wildcard

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Names are names and patterns of a trusted file, such as a trust policy or a configuration. The
// case of letters counts. A pattern is compared part by part between slashes.
type Names []string

// NamespaceForm is the form of a namespace, or of a pattern of namespaces.
var NamespaceForm = regexp.MustCompile(`^[a-z0-9*?]([a-z0-9*?-]*[a-z0-9*?])?$`)

// Check returns an error for the first name in another form.
func (n Names) Check(form *regexp.Regexp) error {
	for _, name := range n {
		if !form.MatchString(name) {
			return fmt.Errorf("%q is neither a name nor a pattern, in which * is any text and ? any one character",
				name)
		}
	}
	return nil
}

// All reports whether "*" is among the names.
func (n Names) All() bool { return slices.Contains(n, "*") }

// Include reports whether a name is equal to one of these or matches one. Only "*" includes another
// pattern.
func (n Names) Include(name string) bool {
	return n.All() || !In(name) && slices.ContainsFunc(n, func(pattern string) bool { return fitsParts(pattern, name) })
}

func fitsParts(pattern, name string) bool {
	return slices.EqualFunc(strings.Split(pattern, "/"), strings.Split(name, "/"), Fits)
}

// String lists the names.
func (n Names) String() string { return strings.Join(n, ", ") }
