package kyverno

import (
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// Exception is a PolicyException of either API group, read once: what it says, and
// where. What the group has no field for is empty. What is absent or null is empty too,
// as it is to the API server; what has another type than its field is in Unread.
type Exception struct {
	Refs []Ref // nil where the list is not written
	// Match is that of kyverno.io, which policies.kyverno.io has conditions for.
	Match      Match
	Conditions []Condition
	ByMatch    bool // it says which resources it is for by Match

	PodSecurity           []Control      // kyverno.io
	Preconditions         map[string]any // kyverno.io: spec.conditions, in JMESPath; nil where not written
	Background            bool           // kyverno.io: it counts in background scans; true unless it says false
	Images, AllowedValues []Located      // policies.kyverno.io

	// RefsPath and ScopePath are where the policies stand, and what says which resources
	// are exempt.
	RefsPath, ScopePath exception.Path
	// Spec is all that stands under spec, for those who compare it.
	Spec map[string]any
	// Unread is what has another type than its field, at most [maxUnread]. Nobody knows
	// how it will be read.
	Unread []Unread
}

// Located is a text with its place in the document.
type Located struct {
	Text string
	Path exception.Path
}

// Ref is one policy that an exception is from.
type Ref struct {
	Group string // of the exception
	Path  exception.Path
	Name  Located   // kyverno.io: namespace/name for a Policy
	Kind  Located   // policies.kyverno.io; without a path in the other group
	Rules []Located // kyverno.io: names or patterns; nil where the list is not written
}

// Bare returns the name without the namespace before it.
func (r Ref) Bare() string { return r.Name.Text[strings.LastIndex(r.Name.Text, "/")+1:] }

// Namespaced reports whether a reference of policies.kyverno.io is to a policy of a kind that
// has a namespace. It cannot say which one, so it is to that name in each of them. It also
// reaches the cluster's policy of that name: Kyverno's generator of admission policies
// compares names and ignores the kind (getCELExceptions in
// pkg/controllers/admissionpolicygenerator/utils.go of 1.19.1).
func (r Ref) Namespaced() bool { return strings.HasPrefix(r.Kind.Text, "Namespaced") }

// RuleNames returns the texts of the rules.
func (r Ref) RuleNames() []string { return Texts(r.Rules) }

// RulesPath is where the rules stand.
func (r Ref) RulesPath() exception.Path { return r.Path.With("ruleNames") }

// PolicyKinds returns the kinds of the policies that the exception is from.
func (e *Exception) PolicyKinds() []string {
	kinds := make([]string, len(e.Refs))
	for i, ref := range e.Refs {
		kinds[i] = ref.Kind.Text
	}
	return kinds
}

// Condition is one match condition.
type Condition struct {
	Name, Expression Located
	IsText           bool // the expression is one; otherwise it is in [Exception.Unread]
}

// Control is an entry of spec.podSecurity.
type Control struct {
	Path        exception.Path
	Name, Field string
	Images      []Located
	Values      []Located
}

// Texts returns texts without their places.
func Texts(all []Located) []string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = one.Text
	}
	return texts
}

// The kinds of exceptions: those that say which resources they are for by a match, and
// those that do by conditions.
var (
	MatchKind     = exception.GroupKind{Group: exception.KyvernoGroup, Kind: exception.Kind}
	ConditionKind = exception.GroupKind{Group: exception.PoliciesGroup, Kind: exception.Kind}
)

// Kinds returns the kinds of exceptions.
func Kinds() []exception.GroupKind { return []exception.GroupKind{MatchKind, ConditionKind} }

// APIVersion returns the apiVersion in which polex writes exceptions of a kind.
func APIVersion(kind exception.GroupKind) string { return MatchDeprecated.Newest(kind) }

// Read reads a document of one of the [Kinds], and returns nil for any other.
func Read(doc *exception.Document) *Exception {
	kind := doc.GroupKind()
	if !kind.IsException() {
		return nil
	}
	value, _ := doc.Lookup("spec")
	r := &reader{}
	spec := r.mapping(node{value, nil, "spec"})
	e := &Exception{ByMatch: kind == MatchKind, Spec: spec.tree}
	if e.ByMatch {
		r.ofMatch(e, spec)
	} else {
		r.ofConditions(e, spec)
	}
	e.Unread = r.unread
	return e
}

func (r *reader) ofMatch(e *Exception, spec object) {
	list := spec.at("exceptions")
	e.RefsPath, e.ScopePath = list.path(), exception.Path{"spec", "match"}
	e.Refs = each(r, list, func(ref object) Ref {
		one := Ref{Group: exception.KyvernoGroup, Path: ref.path, Name: r.text(ref.at("policyName"))}
		if rules := ref.at("ruleNames"); rules.value != nil {
			one.Rules = r.texts(rules)
		}
		return one
	})
	e.Match = r.match(spec.at("match"))
	e.PodSecurity = each(r, spec.at("podSecurity"), func(c object) Control {
		return Control{Path: c.path, Name: r.text(c.at("controlName")).Text, Field: r.text(c.at("restrictedField")).Text, Images: r.texts(c.at("images")), Values: r.texts(c.at("values"))}
	})
	e.Preconditions = r.mapping(spec.at("conditions")).tree
	e.Background = spec.tree["background"] != false
}

func (r *reader) ofConditions(e *Exception, spec object) {
	list := spec.at("policyRefs")
	e.RefsPath, e.ScopePath = list.path(), exception.Path{"spec", "matchConditions"}
	e.Refs = each(r, list, func(ref object) Ref {
		return Ref{Group: exception.PoliciesGroup, Path: ref.path, Name: r.text(ref.at("name")), Kind: r.text(ref.at("kind"))}
	})
	e.Conditions = each(r, spec.at("matchConditions"), func(c object) Condition {
		one := Condition{Name: r.text(c.at("name")), Expression: Located{Path: c.path.With("expression")}}
		if one.Expression.Text, one.IsText = c.tree["expression"].(string); !one.IsText {
			r.misread(c.at("expression"), "a text")
		}
		return one
	})
	e.Images, e.AllowedValues = r.texts(spec.at("images")), r.texts(spec.at("allowedValues"))
	e.Background = true
}
