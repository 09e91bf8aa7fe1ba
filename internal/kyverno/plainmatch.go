package kyverno

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// PlainMatch returns the kyverno.io match for the same resources as match conditions of
// policies.kyverno.io. It returns filters only if every part of every condition compares the kind,
// API version, name, namespace, a label or the user with literals, or tests whether one of these
// exists. The filters do not contain the user's name. Nothing is evaluated.
func PlainMatch(conditions []string) Match { return plainMatch(wildcard.NewMeter(), conditions) }

func plainMatch(work *wildcard.Meter, conditions []string) Match {
	all := plainFilters(work, conditions)
	for _, f := range all {
		for _, kind := range f.Kinds {
			// The kinds of an API version are not known. And a filter finds a Namespace in itself,
			// while to a condition it has no namespace.
			if strings.HasSuffix(kind.Text, "*") || strings.HasSuffix(kind.Text, "Namespace") {
				return Match{}
			}
		}
	}
	return Match{Any: all}
}

// plainFilters returns filters of which each resource matches one, if match conditions are true for it.
// Nil says nothing.
func plainFilters(work *wildcard.Meter, conditions []string) []Filter {
	read := &reading[[]Filter]{
		work: work, both: joined, either: alternatives, alone: plainFilter,
		otherwise: func([]token) []Filter { return nil },
	}
	all := []Filter{{}}
	for _, text := range conditions {
		parts, err := tokens(work, text)
		if err != nil {
			return nil
		}
		all = joined(all, read.of(parts, maxNesting))
	}
	return all
}

// Parts returns the parts of match conditions that && joins, sorted and in one normal form. It
// returns nil if a condition cannot be read.
func Parts(conditions []string) []string {
	work := wildcard.NewMeter()
	var all []string
	for _, text := range conditions {
		read, err := tokens(work, text)
		if err != nil {
			return nil
		}
		for inner, ok := unwrapped(read); ok; inner, ok = unwrapped(read) {
			read = inner
		}
		parts := [][]token{read}
		if len(split(read, "?", 2)) == 1 && len(split(read, "||", 2)) == 1 { // these bind looser
			parts = split(read, "&&", -1)
		}
		for _, part := range parts {
			all = append(all, written(part, strconv.Quote))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// maxAlternatives limits the number of filters.
const maxAlternatives = 64

func alternatives(some, others []Filter) []Filter {
	if len(some) == 0 || len(others) == 0 || len(some)+len(others) > maxAlternatives {
		return nil
	}
	return slices.Concat(some, others)
}

func joined(some, others []Filter) []Filter {
	if len(some)*len(others) > maxAlternatives {
		return nil
	}
	var all []Filter
	for _, x := range some {
		for _, y := range others {
			f, ok := x.joinedWith(y)
			if !ok {
				return nil
			}
			all = append(all, f)
		}
	}
	return all
}

// present is the pattern for any value.
const present = "?*"

// joinedWith returns the filter for resources that match both filters. It fails if both restrict the same field.
func (f Filter) joinedWith(other Filter) (Filter, bool) {
	isPresent := func(texts []Located) bool { return len(texts) == 1 && texts[0].Text == present }
	for _, lists := range [][2]*[]Located{{&f.Names, &other.Names}, {&f.Namespaces, &other.Namespaces}} {
		switch {
		case len(*lists[0]) == 0 || isPresent(*lists[0]) && len(*lists[1]) > 0:
			*lists[0] = *lists[1]
		case len(*lists[1]) > 0 && !isPresent(*lists[1]):
			return Filter{}, false
		}
	}
	switch {
	case len(f.Kinds) == 0:
		f.Kinds = other.Kinds
	case len(other.Kinds) > 0: // an API version and kinds
		versions, kinds := f.Kinds, other.Kinds
		if strings.HasSuffix(kinds[0].Text, "/*") {
			versions, kinds = kinds, versions
		}
		version, is := strings.CutSuffix(versions[0].Text, "*")
		if !is || len(versions) > 1 || strings.Contains(version, "*") || strings.Count(version, "/") < 2 ||
			strings.Contains(kinds[0].Text, "/") {
			return Filter{}, false
		}
		f.Kinds = nil
		for _, kind := range kinds {
			f.Kinds = append(f.Kinds, Located{Text: version + kind.Text})
		}
	}
	f.Subjects = slices.Concat(f.Subjects, other.Subjects)
	if f.Selector == nil {
		f.Selector = other.Selector
	} else if other.Selector != nil {
		labels := map[string]string{}
		maps.Copy(labels, f.Selector.Labels)
		maps.Copy(labels, other.Selector.Labels)
		if len(labels) < len(f.Selector.Labels)+len(other.Selector.Labels) {
			return Filter{}, false // both require the same label
		}
		f.Selector = &Selector{Labels: labels,
			Expressions: slices.Concat(f.Selector.Expressions, other.Selector.Expressions)}
	}
	return f, true
}

// isThere matches tests for a value that every object has or can have.
var isThere = regexp.MustCompile(
	`^(?:object != null|has \( object \. (?:metadata|kind|apiVersion|metadata \. (?:name|labels)) \))$`)

// plainFilter reads a part without operators.
func plainFilter(parts []token) []Filter {
	shape := shapeOf(parts)
	switch {
	case isThere.MatchString(shape):
		return []Filter{{}}
	case shape == "' in object . metadata . labels" && !wildcard.In(parts[0].text):
		return []Filter{{Selector: &Selector{
			Expressions: []SelectorExpression{{Key: Located{Text: parts[0].text}, Operator: "Exists"}}}}}
	case shape == "has ( object . metadata . namespace )":
		return []Filter{{Namespaces: []Located{{Text: present}}}}
	}
	if _, joined := joinedNamespaces(parts); joined && isPair.MatchString(shape) {
		return pairs(literals(parts)[1:])
	}
	path, patterns := comparison(parts)
	texts := make([]Located, len(patterns))
	for i, pattern := range patterns {
		texts[i].Text = pattern
	}
	if slices.ContainsFunc(literals(parts), wildcard.In) && !strings.Contains(shape, " . matches (") {
		return nil // in conditions, * and ? are plain characters
	}
	if label := pathFrom(parts, 0); parts[0].text == "object" && label.isLabel() && isLabel(parts) {
		return labelFilter(label, parts)
	}
	if slices.Contains(literals(parts), "") {
		return nil
	}
	switch path {
	case "request . userInfo . username":
		return []Filter{{Subjects: []Subject{{Kind: "User"}}}}
	case "object . metadata . name", "request . name":
		return []Filter{{Names: texts}}
	case "object . metadata . namespace", "request . namespace":
		return []Filter{{Namespaces: texts}}
	case "object . kind", "request . kind . kind":
		if !slices.ContainsFunc(patterns, func(kind string) bool { return strings.ContainsAny(kind, "./*?") }) {
			return []Filter{{Kinds: texts}}
		}
	case "object . apiVersion", "request . kind . group", "request . kind . version", "request . resource . resource":
		return []Filter{{Kinds: kindsOf(path, patterns)}}
	}
	return nil
}

// kindsOf returns the kinds, with "*" for those that are not known, of which an API version, a group, a version or a
// resource is one of some texts. It returns nil if it cannot tell.
func kindsOf(path string, texts []string) (all []Located) {
	for _, text := range texts {
		kinds := []string{"*/" + text + "/*"}
		switch {
		case wildcard.In(text):
			return nil
		case path == "object . apiVersion" && strings.Contains(text, "/"):
			kinds[0] = text + "/*"
		case path == "object . apiVersion":
			kinds[0] = "/" + text + "/*"
		case strings.HasSuffix(path, " . group"):
			kinds[0] = text + "/*/*"
		case strings.HasSuffix(path, " . resource"):
			if kinds = slices.Clone(manifest.KindsOf(text)); len(kinds) == 0 {
				return nil
			}
			for i := range kinds {
				kinds[i] += "/*"
			}
		}
		for _, kind := range kinds {
			all = append(all, Located{Text: kind})
		}
	}
	return all
}

// isPair matches a namespace, a slash and a name that are compared as one text.
var isPair = regexp.MustCompile(`^(?:\( )?object \. metadata \. namespace \+ ' \+ object \. metadata \. name` +
	`(?: \))?(?: == '| in \[ '(?: , ')* \])$`)

// pairs returns a filter for each text of a namespace, a slash and a name, or nil.
func pairs(texts []string) (filters []Filter) {
	for _, text := range texts {
		namespace, name, _ := strings.Cut(text, "/")
		if name == "" || strings.Contains(name, "/") || wildcard.In(text) {
			return nil
		}
		filters = append(filters, Filter{Namespaces: []Located{{Text: namespace}}, Names: []Located{{Text: name}}})
	}
	return filters
}

// labelFilter reads a comparison of one label by ==, in or startsWith.
func labelFilter(label *fieldPath, parts []token) []Filter {
	shape, key, texts := shapeOf(parts), label.key, literals(parts)
	if len(label.steps) > 2 {
		key = label.steps[2]
	}
	value := texts[len(texts)-1]
	switch {
	case strings.HasSuffix(shape, " == '"):
	case strings.HasSuffix(shape, " . startsWith ( ' )"):
		value += "*"
	default:
		in := SelectorExpression{Key: Located{Text: key}, Operator: "In"}
		for _, text := range texts[len(texts)-1-strings.Count(shape, "' , "):] {
			if !exception.IsLabelValue(text) {
				return nil
			}
			in.Values = append(in.Values, Located{Text: text})
		}
		return []Filter{{Selector: &Selector{Expressions: []SelectorExpression{in}}}}
	}
	return []Filter{{Selector: &Selector{Labels: map[string]string{key: value}}}}
}
