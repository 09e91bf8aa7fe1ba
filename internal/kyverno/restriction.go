package kyverno

import (
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// field is a property of a resource in a request, with the values of the guard's objects as names
// or patterns. oldObject is not among the fields, because it is empty at a creation.
type field struct {
	dimension        int      // namespaces, names, or exceptions together with namespaced
	kinds, namespace []string // of PolicyException, and of Namespace
}

// fields are indexed by their tokens. They have the same meaning in every version and for subresources. A
// MutatingPolicy can change another object than the requested one; its exceptions then see that object and the request
// for the other. Such an exception can only prevent a change, and a change checks nothing.
var fields = map[string]field{
	"object . kind":                        {exceptions, exceptionNames, namespaceNames},
	"request . object . kind":              {exceptions, exceptionNames, namespaceNames},
	"request . kind . kind":                {exceptions, exceptionNames, namespaceNames},
	"request . requestKind . kind":         {exceptions, exceptionNames, namespaceNames},
	"request . resource . resource":        {exceptions, exceptionNames, namespaceNames},
	"request . requestResource . resource": {exceptions, exceptionNames, namespaceNames},
	"object . apiVersion": {exceptions, []string{"kyverno.io/*", "policies.kyverno.io/*"},
		[]string{"v1"}},
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

// reads returns the coverage of a part in an unknown form. In an exception from only ordinary policies it may read
// everything except the namespace, because no PolicyException and no Namespace can match.
func (a *asking) reads(parts []token) coverage {
	read := reads(parts)
	if !a.ordinary {
		return read
	}
	c := silent
	c[namespaces] = read[namespaces]
	return c
}

// reading computes the coverages of a condition.
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

// otherwise returns the coverage for the case that a condition is false. If it excludes guarded
// objects, its negation can select them.
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

// restriction returns the coverage of a part that compares one field with literals, in one of the
// forms of comparison. Such a part has no empty literal.
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
	if f.dimension == names && !slices.ContainsFunc(patterns, wildcard.In) { // a few patterns can match most names
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

// outside returns whether patterns exclude all guarded names.
func outside(patterns, guarded []string) mention {
	for _, p := range patterns {
		if _, found := wildcard.OverlapsAny(p, guarded); found {
			return possible
		}
	}
	return excluded
}

// optional matches an optional field with an orValue that is compared with literals, as shapeOf writes it.
var optional = regexp.MustCompile(`^(\w+(?: \. \w+){0,3}(?: \. \? \w+){1,3}) \. orValue \( ' \)(` + compared + `)$`)

// comparison returns the field that a part compares, as in fields, and the patterns of which it has
// to match one. Literals with * and ? are treated as patterns, which match more. The literal of
// orValue must not match: otherwise an object without the field would be selected.
func comparison(parts []token) (path string, patterns []string) {
	shape, patterns := shapeOf(parts), literals(parts)
	if len(patterns) > 1 {
		if found := optional.FindStringSubmatch(shape); found != nil && !beginsWithAny(patterns[0], patterns[1:]) {
			shape, patterns = strings.ReplaceAll(found[1], " ? ", " ")+found[2], patterns[1:]
		}
	}
	if path, list, ok := strings.Cut(shape, " in [ "); ok && len(patterns) > 0 &&
		list == strings.Repeat("' , ", len(patterns)-1)+"' ]" {
		return path, patterns
	}
	// Each form below has one literal. With several, the rest of the shape would contain a quote, so it
	// would be the path of no field: this check changes no answer.
	if len(patterns) != 1 {
		return "", nil
	}
	if path, ok := strings.CutSuffix(shape, " == '"); ok {
		return path, patterns
	}
	if path, ok := strings.CutPrefix(shape, "' == "); ok {
		return path, patterns
	}
	for _, method := range []struct{ name, before, after string }{{"startsWith", "", "*"}, {"endsWith", "*", ""},
		{"contains", "*", "*"}} {
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
var withSlash = regexp.MustCompile(`^(?:\( (` + dotted + `) ` + slashed + ` \)|(` + dotted + `) ` + slashed +
	`)(?: == '| in \[ '(?: , ')* \])$`)

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
