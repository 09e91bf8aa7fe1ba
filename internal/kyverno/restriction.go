package kyverno

import (
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// field is something that a request says of its resource, and what it says of the
// guard's, as names or patterns. Of oldObject nothing is known when something is
// created.
type field struct {
	dimension        int      // namespaces, names, or exceptions with namespaced
	kinds, namespace []string // of a kind: PolicyException, and Namespace
}

// fields are by their tokens. What they say is the same of a request by whatever
// version, and of subresources. A MutatingPolicy that changes another object than the
// one requested gives its exceptions that object and the request for the other: they
// then keep an object from being changed, which checks nothing.
var fields = map[string]field{
	"object . kind":                           {exceptions, exceptionNames, namespaceNames},
	"request . object . kind":                 {exceptions, exceptionNames, namespaceNames},
	"request . kind . kind":                   {exceptions, exceptionNames, namespaceNames},
	"request . requestKind . kind":            {exceptions, exceptionNames, namespaceNames},
	"request . resource . resource":           {exceptions, exceptionNames, namespaceNames},
	"request . requestResource . resource":    {exceptions, exceptionNames, namespaceNames},
	"object . apiVersion":                     {exceptions, []string{"kyverno.io/*", "policies.kyverno.io/*"}, []string{"v1"}},
	"request . kind . group":                  {exceptions, exceptionGroups, []string{""}},
	"request . requestKind . group":           {exceptions, exceptionGroups, []string{""}},
	"request . resource . group":              {exceptions, exceptionGroups, []string{""}},
	"request . requestResource . group":       {exceptions, exceptionGroups, []string{""}},
	"object . metadata . namespace":           {dimension: namespaces},
	"request . object . metadata . namespace": {dimension: namespaces},
	"request . namespace":                     {dimension: namespaces},
	"namespaceObject . metadata . name":       {dimension: namespaces},
	"object . metadata . name":                {dimension: names},
	"request . object . metadata . name":      {dimension: names},
	"request . name":                          {dimension: names},
}

// reads is the coverage of a part in a form that is not recognised. In an exception from ordinary
// policies alone, it may look at anything but the namespace: there are no PolicyExceptions and no
// Namespaces to be found.
func (a *asking) reads(parts []token) coverage {
	read := reads(parts)
	if !a.ordinary {
		return read
	}
	c := silent
	c[namespaces] = read[namespaces]
	return c
}

// reading is that of what a condition is about.
func (a *asking) reading() *reading[coverages] {
	return &reading[coverages]{
		work: a.work, unknown: coverages{{}}, both: a.both, either: coverages.or,
		otherwise: func(parts []token) coverages { return coverages{a.otherwise(parts)} },
		alone: func(parts []token) coverages {
			if c, ok := a.restriction(parts); ok {
				return coverages{c}
			}
			return coverages{a.reads(parts)}
		},
	}
}

// otherwise is the coverage of what a condition is not true of. Where what is guarded is
// excluded, it is then among all the others.
func (a *asking) otherwise(parts []token) coverage {
	c, ok := a.restriction(parts)
	if !ok {
		return a.reads(parts)
	}
	for i := range c {
		if c[i] == excluded {
			c[i] = unmentioned
		}
	}
	return c
}

// restriction returns the coverage of a part that compares one field with literals, in
// one of the forms below. An empty literal is in none of them.
func (a *asking) restriction(parts []token) (coverage, bool) {
	if all, ok := joinedNamespaces(parts); ok {
		c := silent
		c[namespaces] = excluded
		for _, name := range all {
			if _, found := a.hasNamespace(name); found {
				c[namespaces] = possible
			}
		}
		return c, true
	}
	path, patterns := comparison(parts)
	f, known := fields[path]
	if !known || slices.Contains(patterns, "") {
		return coverage{}, false
	}
	c := silent
	if f.dimension == exceptions {
		c[exceptions], c[namespaced] = outside(patterns, f.kinds), outside(patterns, f.namespace)
		return c, true
	}
	c[f.dimension] = excluded
	if f.dimension == names && !slices.ContainsFunc(patterns, wildcard.In) { // a few patterns can fit most names
		c[whole] = excluded
	}
	for _, p := range patterns {
		if _, found := a.hasNamespace(p); found {
			c[f.dimension] = possible
		}
		if f.dimension != names {
			continue
		}
		if _, found := a.guard.hasObject(a.work, p); found {
			c[namespaces] = possible
		}
	}
	return c, true
}

// outside tells how what is guarded stands to patterns.
func outside(patterns, guarded []string) mention {
	for _, p := range patterns {
		if _, found := wildcard.OverlapsAny(p, guarded); found {
			return possible
		}
	}
	return excluded
}

// optional is a field that may be missing, with one literal for it, compared with others, as
// shapeOf writes them.
var optional = regexp.MustCompile(`^(\w+(?: \. \w+){0,3}(?: \. \? \w+){1,3}) \. orValue \( ' \)(` + compared + `)$`)

// comparison returns the field that a part compares, as in fields, and the patterns of
// which it has to fit one. In literals * and ? are themselves; taking them for
// wildcards fits more. An optional field is one that the literal for it does not fit: an
// object without the field is then not selected.
func comparison(parts []token) (path string, patterns []string) {
	shape, patterns := shapeOf(parts), literals(parts)
	if len(patterns) > 1 {
		if found := optional.FindStringSubmatch(shape); found != nil && !beginsWithAny(patterns[0], patterns[1:]) {
			shape, patterns = strings.ReplaceAll(found[1], " ? ", " ")+found[2], patterns[1:]
		}
	}
	if path, list, ok := strings.Cut(shape, " in [ "); ok && len(patterns) > 0 && list == strings.Repeat("' , ", len(patterns)-1)+"' ]" {
		return path, patterns
	}
	if len(patterns) != 1 {
		return "", nil
	}
	if path, ok := strings.CutSuffix(shape, " == '"); ok {
		return path, patterns
	}
	if path, ok := strings.CutPrefix(shape, "' == "); ok {
		return path, patterns
	}
	for _, method := range []struct{ name, before, after string }{{"startsWith", "", "*"}, {"endsWith", "*", ""}, {"contains", "*", "*"}} {
		if path, ok := strings.CutSuffix(shape, " . "+method.name+" ( ' )"); ok {
			if patterns[0] == "" {
				return "", nil
			}
			return path, []string{method.before + patterns[0] + method.after}
		}
	}
	if path, ok := strings.CutSuffix(shape, " . matches ( ' )"); ok {
		if pattern, ok := fromRegular(patterns[0]); ok {
			return path, []string{pattern}
		}
	}
	return "", nil
}

// withSlash is a field, a slash and another field or a label, joined to one text and compared with
// literals, as shapeOf writes them.
var withSlash = regexp.MustCompile(`^(?:\( (` + dotted + `) ` + slashed + ` \)|(` + dotted + `) ` + slashed + `)(?: == '| in \[ '(?: , ')* \])$`)

const (
	dotted  = `\w+(?: \. \w+)+`
	slashed = `\+ ' \+ ` + dotted + `( \[ ' \])?`
)

// joinedNamespaces returns the namespaces that a part in that form allows. A text that begins with
// a namespace and a slash has this beginning, wherever its first slash is: each text before a slash
// counts as a namespace. Where one is empty, or a literal has no slash, the form is not recognised.
func joinedNamespaces(parts []token) (all []string, ok bool) {
	found := withSlash.FindStringSubmatch(shapeOf(parts))
	if found == nil || fields[found[1]+found[3]].dimension != namespaces {
		return nil, false
	}
	texts := literals(parts)
	if texts[0] != "/" {
		return nil, false
	}
	texts = texts[1:]
	if found[2]+found[4] != "" {
		texts = texts[1:] // of a label
	}
	for _, text := range texts {
		if text == "" || text[0] == '/' || !strings.Contains(text, "/") {
			return nil, false
		}
		for i, c := range text {
			if c == '/' {
				all = append(all, text[:i])
			}
		}
	}
	return all, true
}

// fromRegular turns a regular expression into the pattern that polex-validate --fix
// makes it of: anchored, of plain characters, ".*", "." and "[.]".
func fromRegular(expression string) (pattern string, ok bool) {
	rest, begins := strings.CutPrefix(expression, "^")
	rest, ends := strings.CutSuffix(rest, "$")
	if !begins || !ends || rest == "" {
		return "", false
	}
	for rest != "" {
		piece, fits := rest[:1], rest[:1]
		switch {
		case strings.HasPrefix(rest, "[.]"):
			piece, fits = "[.]", "."
		case strings.HasPrefix(rest, ".*"):
			piece, fits = ".*", "*"
		case piece == ".":
			fits = "?"
		case piece != "-" && !isWord(piece[0]):
			return "", false
		}
		pattern, rest = pattern+fits, rest[len(piece):]
	}
	return pattern, true
}
