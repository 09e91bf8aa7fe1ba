package exception

import (
	"fmt"
	"regexp"
	"strings"
)

// Forms of names, as the API server checks them (RFC 1123; qualified names of labels and
// annotations).
var (
	dnsLabel      = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	dnsSubdomain  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	qualifiedPart = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
)

const (
	maxSubdomain   = 253
	maxLabel       = 63
	maxAnnotations = 256 << 10 // bytes of all keys and values
)

func (c *schemaChecker) name(at place, s *schema, path Path, value string) {
	switch {
	case value == "":
		c.report(at, path, ProblemEmptyValue, fmt.Sprintf("%s is empty", path), "")
	case s.special == labelName && (len(value) > maxLabel || !dnsLabel.MatchString(value)):
		c.report(at, path, ProblemInvalidValue, fmt.Sprintf("%q is not a namespace's name", shortened(value)),
			"use at most 63 lower-case letters, digits and dashes, a letter or digit first and last")
	case s.special == subdomainName && (len(value) > maxSubdomain || !dnsSubdomain.MatchString(value)):
		c.report(at, path, ProblemInvalidValue, fmt.Sprintf("%q is not an object's name", shortened(value)),
			"use at most 253 lower-case letters, digits, dashes and dots, a letter or digit first and last")
	}
}

// special checks labels and annotations. The API server drops an empty mapping, and rejects keys
// and values of another form.
func (c *schemaChecker) special(n *node, at place, s *schema, path Path) {
	if s.special != labelMap && s.special != annotationMap {
		return
	}
	if len(n.entries) == 0 {
		c.report(at, path, ProblemEmptyValue, "an empty mapping is dropped by the API server, so the live object would differ from the signed one", "remove it")
		return
	}
	size := 0
	for i := range n.entries {
		e := &n.entries[i]
		value, _ := e.value.scalar.(string)
		size += len(e.key) + len(value)
		if !qualified(e.key, s.special == annotationMap) {
			c.report(placeOf(e), path.With(e.key), ProblemInvalidValue, fmt.Sprintf("%q is not the key of a label or annotation", shortened(e.key)),
				"write it like example.com/name or name")
		}
		if s.special == labelMap && !IsLabelValue(value) {
			c.report(placeOf(e), path.With(e.key), ProblemInvalidValue, fmt.Sprintf("%q is not a label's value", shortened(value)),
				"use at most 63 letters, digits, dashes, underscores and dots, or an annotation")
		}
	}
	if s.special == annotationMap && size > maxAnnotations {
		c.report(at, path, ProblemInvalidValue, fmt.Sprintf("the annotations are larger than %d KiB together", maxAnnotations>>10), "")
	}
}

// qualified reports whether a key is [prefix/]name. The API server accepts the prefix of an
// annotation in any letter case.
func qualified(key string, anyCase bool) bool {
	name := key
	if prefix, rest, found := strings.Cut(key, "/"); found {
		if anyCase {
			prefix = strings.ToLower(prefix)
		}
		if len(prefix) > maxSubdomain || !dnsSubdomain.MatchString(prefix) {
			return false
		}
		name = rest
	}
	return len(name) <= maxLabel && qualifiedPart.MatchString(name)
}

// shortened shortens a value for a message, to 80 characters.
func shortened(s string) string {
	const most = 80
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

// IsQualifiedName reports whether a text has the form of a label's key, [prefix/]name. Selectors
// and named conditions use this form too.
func IsQualifiedName(text string) bool { return qualified(text, false) }

// IsLabelValue reports whether a text is a valid value of a label; "" is valid.
func IsLabelValue(text string) bool {
	return text == "" || len(text) <= maxLabel && qualifiedPart.MatchString(text)
}
