package kyverno

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// Alternatives returns lists of filters: the exception exempts only resources that match all filters
// of one list. Of match conditions, it reads the plain comparisons that && joins.
func (e *Exception) Alternatives(work *wildcard.Meter) [][]Filter {
	switch {
	case !e.ByMatch:
		return plainParts(work, e.parts(e.Conditions))
	case len(e.Match.Filters()) == 0:
		return nil
	}
	lists := e.Match.Alternatives()
	conditions, _ := e.required()
	for i, filters := range lists {
		lists[i] = slices.Concat(filters, conditions)
		for j := range filters {
			if named := filters[j].namespacesByLabel(); len(named) > 0 {
				lists[i] = append(lists[i], Filter{Path: filters[j].Path, Namespaces: named})
			}
		}
	}
	return lists
}

// Bounds returns filters of which each exempted resource matches one: those of the match, or those of
// plain conditions. Of conditions, only object.metadata.namespace is in a filter. Each condition has
// filters of its own: in an admission policy that Kyverno generates, each exempts by itself. Images and
// values have a filter without namespaces, because such a policy allows them everywhere.
func (e *Exception) Bounds() (bounds []Filter) {
	if e.ByMatch {
		return e.Match.Filters()
	}
	work := wildcard.NewMeter()
	for _, values := range [][]Located{e.Images, e.AllowedValues} {
		if len(values) > 0 {
			bounds = append(bounds, Filter{Path: values[0].Path})
		}
	}
	for i, c := range e.Conditions {
		parts := slices.DeleteFunc(e.parts(e.Conditions[i:i+1]), isAboutRequest)
		for _, filters := range plainParts(work, parts) {
			f := Filter{Path: c.Expression.Path}
			for _, one := range filters {
				f.Namespaces = append(f.Namespaces, one.Namespaces...)
			}
			bounds = append(bounds, f)
		}
	}
	return bounds
}

// filterWork is the work to copy a filter: the lists of one document have at most about 50,000.
const filterWork = 100

// plainParts returns the filters of the parts that are plain comparisons, as lists of which one has to
// match. Other parts may be true for everything.
func plainParts(work *wildcard.Meter, parts []string) [][]Filter {
	lists := [][]Filter{{}}
	for _, part := range parts {
		filters := plainFilters(work, []string{part})
		switch {
		case !work.Spend(len(lists) * len(filters) * filterWork):
			return [][]Filter{{}}
		case len(filters) == 0 || len(lists)*len(filters) > maxAlternatives,
			slices.ContainsFunc(filters, isOfSubresource):
			continue
		case len(filters) == 1:
			for i := range lists {
				lists[i] = append(lists[i], filters[0])
			}
			continue
		}
		var joined [][]Filter
		for _, list := range lists {
			for _, f := range filters {
				joined = append(joined, append(slices.Clone(list), f))
			}
		}
		lists = joined
	}
	return lists
}

// isOfSubresource reports whether a filter has a kind of objects that are sent to a subresource of another kind.
func isOfSubresource(f Filter) bool {
	return slices.ContainsFunc(f.Kinds, func(k Located) bool {
		return slices.Contains([]string{"Scale", "Eviction", "Binding", "TokenRequest"}, k.Text) ||
			strings.HasSuffix(k.Text, "Options")
	})
}

// parts returns the parts of conditions that polex reads. A MutatingPolicy can change another object
// than that of the request, so parts about the request say nothing there.
func (e *Exception) parts(conditions []Condition) []string {
	var texts []string
	for _, c := range conditions[:min(len(conditions), MaxConditions)] {
		if len(c.Expression.Text) <= maxExpression {
			texts = append(texts, c.Expression.Text)
		}
	}
	mutates := slices.ContainsFunc(e.Refs,
		func(ref Ref) bool { return strings.HasSuffix(ref.Kind.Text, "MutatingPolicy") })
	return slices.DeleteFunc(Parts(texts), func(part string) bool { return mutates && isAboutRequest(part) })
}

// isAboutRequest reports whether a part reads the object of the request, which may be another one.
func isAboutRequest(part string) bool {
	return strings.Contains(strings.ReplaceAll(part, "request . operation", ""), "request . ")
}

// operation matches a part of a condition that requires some operations.
var operation = regexp.MustCompile(`^request \. operation (?:==|in \[) "(\w+(?:" , "\w+)*)"(?: \])?$`)

// Operations returns the operations of which the conditions require one, or nil.
func (e *Exception) Operations() []string {
	if e.ByMatch {
		_, operations := e.required()
		return operations
	}
	for _, part := range e.parts(e.Conditions) {
		if found := operation.FindStringSubmatch(part); found != nil {
			return strings.Split(found[1], `" , "`)
		}
	}
	return nil
}

// Miss is the reason why no resource matches several filters at once.
type Miss struct {
	Field string // of resources in a filter; "scope" if a kind has no namespace
	Side  [2][]string
	At    *Filter // the first of the filters
	By    string  // the target that is about something else, for people
	// isExcluded means that the target excludes what the first side lists.
	isExcluded bool
}

// Path returns the path of the field.
func (m *Miss) Path() exception.Path {
	field := strings.TrimPrefix(m.Field, "impossible ")
	if field == "scope" {
		field = "namespaces"
	}
	return m.At.Path.With("resources").With(field)
}

// maxListed is the maximum number of texts in a message.
const maxListed = 5

// Listed writes at most five texts for people.
func Listed(texts []string) string {
	few := make([]string, 0, maxListed)
	more := 0
	for _, text := range texts {
		switch text = strconv.Quote(text); {
		case slices.Contains(few, text):
		case len(few) < maxListed:
			few = append(few, text)
		default:
			more++
		}
	}
	if list := strings.Join(few, ", "); more > 0 {
		return list + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(few, ", ")
}

// Describe says which side requires what, with a hint.
func (m *Miss) Describe() (message, hint string) {
	mine, theirs := Listed(m.Side[0]), Listed(m.Side[1])
	field, impossible := strings.CutPrefix(m.Field, "impossible ")
	hint = "name a rule about this, or change " + field + " to what that is about"
	switch {
	case m.isExcluded:
		return fmt.Sprintf("%s excludes the %s %s, so it needs no exception there", m.By, field, mine), hint
	case strings.HasSuffix(field, "elector"):
		return fmt.Sprintf("the requirements for the label %s exclude each other", mine), "remove one of them"
	case impossible && field == "kinds":
		return fmt.Sprintf("no kind is one of %s: Kubernetes has no API group core", mine),
			"write v1 for core/v1"
	case impossible:
		return fmt.Sprintf("no resource has one of the %s %s", field, mine), "write " + field + " as in the cluster: " +
			"lower-case letters, digits and dashes, no variables, and one name in each entry"
	case field == "scope":
		return fmt.Sprintf("a %s is in no namespace, so it is never in %s", m.Side[0][0], theirs),
			"remove namespaces, or name a kind that has one"
	case field != "kinds":
		return fmt.Sprintf("%s is about the %s %s, and the exception about %s", m.By, field, theirs, mine), hint
	}
	for _, right := range m.Side[1] {
		kind := ParseKind(right)
		if slices.ContainsFunc(m.Side[0], func(mine string) bool {
			other := ParseKind(mine)
			return other.Kind == kind.Kind && other.Subresource == kind.Subresource
		}) {
			hint = fmt.Sprintf("write %q", right)
			break
		}
	}
	return fmt.Sprintf("%s is about %s, and the exception about %s", m.By, theirs, mine), hint
}

// Contradiction returns the reason why no resource matches all filters, or nil if one may. It
// compares texts and evaluates nothing.
func Contradiction(work *wildcard.Meter, filters []Filter) *Miss {
	isSubdomain := func() bool { // all kinds that the filters match have DNS subdomains as names
		kinds, _ := commonKinds(work, filters)
		return len(kinds) > 0 && !slices.ContainsFunc(kinds,
			func(k KindSelector) bool { return !slices.Contains(subdomains, k.Kind) })
	}
	for i := range filters {
		if wrong := filters[i].impossible(isSubdomain); wrong != nil {
			return wrong
		}
		if miss := filters[i].apartFromAll(work, filters[i+1:]); miss != nil {
			return miss
		}
	}
	if miss := apartByLabels(work, filters); miss != nil {
		return miss
	}
	return withoutScope(work, filters)
}

// withoutKind returns the reason why no kind matches all filters, although each two have one in common: such as v1 and
// Deployment in a policy about Pods and Deployments.
func withoutKind(work *wildcard.Meter, mine, all []Filter) *Miss {
	at := slices.IndexFunc(mine, func(f Filter) bool { return len(f.Kinds) > 0 })
	for i := range all {
		// The object of a request for a subresource is of another kind than the resource.
		if slices.ContainsFunc(all[i].selectors(),
			func(k KindSelector) bool { return strings.Trim(k.Subresource, "*") != "" }) {
			return nil
		}
	}
	if _, none := commonKinds(work, all); at < 0 || !none {
		return nil
	}
	miss := &Miss{Field: "kinds", At: &mine[at]}
	for i := range all {
		side := 1
		if i < len(mine) {
			side = 0
		}
		miss.Side[side] = append(miss.Side[side], texts("kinds", all[i].Kinds)...)
	}
	return miss
}

// withoutScope returns the reason why the kinds that all filters match are in none of the namespaces.
func withoutScope(work *wildcard.Meter, filters []Filter) *Miss {
	for i := range filters {
		f := &filters[i]
		if len(f.Namespaces) == 0 || work.FitsAny(Texts(f.Namespaces), "") {
			continue
		}
		if kinds, _ := commonKinds(work, filters); len(kinds) > 0 && !work.Spent() && !slices.ContainsFunc(kinds,
			func(k KindSelector) bool { return k.Kind == "Namespace" || !manifest.IsClusterScoped(k.Group, k.Kind) }) {
			return &Miss{Field: "scope", Side: [2][]string{{kinds[0].Kind}, Texts(f.Namespaces)}, At: f}
		}
	}
	return nil
}

// String returns the selector in the shortest form that Kyverno reads.
func (k KindSelector) String() string {
	text := k.Kind
	if k.Subresource != "" {
		text += "/" + k.Subresource
	}
	for _, part := range []string{k.Version, k.Group} {
		if part != "*" && part != "" {
			text = part + "/" + text
		}
	}
	return text
}

// The texts that no namespace, no name and no DNS subdomain contains. The name of a role may contain most
// others. A name is compared with generateName too, which can end with a dash.
var (
	notInNamespace = regexp.MustCompile(`[^a-z0-9*?-]|^-|-$`)
	notInName      = regexp.MustCompile(`/|%|\$\{|\{\{`)
	notInSubdomain = regexp.MustCompile(`[ -)+,/:->@A-Z\[-\x60{-~]|^[-.]|\.$|\.\.|-\.|\.-`)
)

// subdomains are kinds whose names are DNS subdomains, with Pods and their controllers.
var subdomains = append(slices.Collect(maps.Keys(manifest.PodControllers)), "Pod", "Service", "ConfigMap", "Secret",
	"ServiceAccount", "PersistentVolumeClaim", "PersistentVolume", "Ingress", "NetworkPolicy", "Namespace",
	"HorizontalPodAutoscaler", "PodDisruptionBudget", "ResourceQuota", "LimitRange")

// impossible returns the reason why no resource has one of the namespaces or names, such as a
// variable that nothing replaces, or nil.
func (f *Filter) impossible(isSubdomain func() bool) *Miss {
	for _, of := range []struct {
		field string
		list  []Located
		never *regexp.Regexp
	}{
		{"namespaces", f.Namespaces, notInNamespace}, {"names", f.Named(), notInName},
		{"names", f.Named(), notInSubdomain},
	} {
		if len(of.list) > 0 && !slices.ContainsFunc(of.list,
			func(text Located) bool { return !of.never.MatchString(text.Text) }) &&
			(of.never != notInSubdomain || isSubdomain()) {
			return &Miss{Field: "impossible " + of.field, Side: [2][]string{Texts(of.list)}, At: f}
		}
	}
	if kinds := f.selectors(); len(kinds) > 0 && !slices.ContainsFunc(kinds,
		func(k KindSelector) bool { return k.Group != "core" }) { // the group of Pods is ""
		return &Miss{Field: "impossible kinds", Side: [2][]string{Texts(f.Kinds)}, At: f}
	}
	return nil
}

// apartFromAll returns the reason why no resource matches a filter and one of some others, or nil.
func (f *Filter) apartFromAll(work *wildcard.Meter, others []Filter) *Miss {
	for i := range others {
		if miss := f.apartFrom(work, &others[i]); miss != nil {
			return miss
		}
	}
	return nil
}

// apartFrom returns the reason why no resource matches both filters, or nil. Labels are not compared:
// Kyverno also matches a rule with the object before an update, which may have others.
func (f *Filter) apartFrom(work *wildcard.Meter, other *Filter) *Miss {
	if !work.Spend(1) {
		return nil
	}
	for _, of := range []struct {
		field      string
		mine, your []Located
		meet       bool
	}{
		{"kinds", f.Kinds, other.Kinds, slices.ContainsFunc(f.selectors(), func(a KindSelector) bool {
			return slices.ContainsFunc(other.selectors(), func(b KindSelector) bool {
				_, meet := a.common(work, b)
				return meet
			})
		})},
		{"names", f.Named(), other.Named(), meet(work, f.Named(), other.Named())},
		{"namespaces", f.Namespaces, other.Namespaces, meet(work, f.Namespaces, other.Namespaces)},
	} {
		if len(of.mine) > 0 && len(of.your) > 0 && !of.meet && !work.Spent() {
			return &Miss{Field: of.field, Side: [2][]string{texts(of.field, of.mine), texts(of.field, of.your)}, At: f,
				By: "the match"}
		}
	}
	return nil
}

func texts(field string, all []Located) []string {
	written := Texts(all)
	if field == "kinds" {
		for i, text := range written {
			written[i] = ParseKind(text).String()
		}
	}
	return written
}

// meet reports whether a text exists that matches a pattern of both lists. Letter case counts, as in Kyverno.
func meet(work *wildcard.Meter, some, others []Located) bool {
	return slices.ContainsFunc(some, func(a Located) bool {
		return slices.ContainsFunc(others, func(b Located) bool { return meetTexts(work, a.Text, b.Text) })
	})
}

func meetTexts(work *wildcard.Meter, a, b string) bool {
	switch {
	case !wildcard.In(a):
		return work.Fits(b, a)
	case !wildcard.In(b):
		return work.Fits(a, b)
	}
	return work.Overlap(a, b)
}

// common returns the kind that both selectors match, with the more exact group. Kyverno also takes
// a selector of Pods for their subresource ephemeralcontainers.
func (k KindSelector) common(work *wildcard.Meter, other KindSelector) (KindSelector, bool) {
	if !meetTexts(work, k.Group, other.Group) || !meetTexts(work, k.Version, other.Version) ||
		!meetTexts(work, k.Kind, other.Kind) {
		return k, false
	}
	if k.Subresource != other.Subresource && !meetTexts(work, k.Subresource, other.Subresource) {
		const debug = "ephemeralcontainers"
		if !meetTexts(work, k.Kind, "Pod") || !slices.Contains([]string{k.Subresource, other.Subresource}, debug) {
			return k, false
		}
	}
	if wildcard.In(k.Group) {
		k.Group = other.Group
	}
	if wildcard.In(k.Version) {
		k.Version = other.Version
	}
	if wildcard.In(k.Kind) {
		k.Kind = other.Kind
	}
	return k, true
}

// maxCommonKinds limits the kinds of [commonKinds], which could multiply with each filter.
const maxCommonKinds = 1000

// commonKinds returns the kinds that all filters match, or nil if there are too many. none means that there are none.
func commonKinds(work *wildcard.Meter, filters []Filter) (found []KindSelector, none bool) {
	for i := range filters {
		if len(filters[i].Kinds) == 0 {
			continue
		}
		var all []KindSelector
		for _, kind := range filters[i].selectors() {
			if len(found) == 0 && !slices.Contains(all, kind) {
				all = append(all, kind)
			}
			for _, other := range found {
				if both, meet := other.common(work, kind); meet && !slices.Contains(all, both) {
					all = append(all, both)
				}
			}
			if len(all) > maxCommonKinds || work.Spent() {
				return nil, false
			}
		}
		if found = all; len(found) == 0 {
			return nil, true
		}
	}
	return found, false
}
