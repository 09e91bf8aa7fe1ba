package kyverno

import (
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// Exception is a PolicyException of either API group, with the path of each value. Fields of the other group are empty,
// and so are absent and null fields, as in the API server. A value of another type than its field is in Unread.
type Exception struct {
	Refs []Ref // nil: the list is absent
	// Match is the match of kyverno.io. policies.kyverno.io has Conditions instead.
	Match      Match
	Conditions []Condition
	ByMatch    bool // Match selects the resources, not Conditions

	PodSecurity           []Control      // kyverno.io
	Preconditions         map[string]any // kyverno.io: spec.conditions, in JMESPath; nil: absent
	Background            bool           // kyverno.io: applies to background scans; true unless the field is false
	Images, AllowedValues []Located      // policies.kyverno.io

	// RefsPath is the path of the policies, ScopePath the path of the match or conditions.
	RefsPath, ScopePath exception.Path
	// Spec is the whole spec, for comparisons.
	Spec map[string]any
	// Unread lists the values of another type than their field, at most [maxUnread].
	Unread []Unread
}

// Located is a text with its path in the document.
type Located struct {
	Text string
	Path exception.Path
}

// Ref is a reference to one policy.
type Ref struct {
	Group string // of the exception
	Path  exception.Path
	Name  Located   // kyverno.io: namespace/name for a Policy
	Kind  Located   // policies.kyverno.io; without a path in the other group
	Rules []Located // kyverno.io: names or patterns; nil: the list is absent
}

// Bare returns the name without its namespace.
func (r Ref) Bare() string { return r.Name.Text[strings.LastIndex(r.Name.Text, "/")+1:] }

// Namespaced reports whether a reference of policies.kyverno.io is to a policy with a namespace. The reference does not
// contain the namespace, so it applies to that name in every namespace. It also applies to the cluster-scoped policy of
// that name: Kyverno's generator of admission policies compares names and ignores the kind (getCELExceptions in
// pkg/controllers/admissionpolicygenerator/utils.go of 1.19.1).
func (r Ref) Namespaced() bool { return strings.HasPrefix(r.Kind.Text, "Namespaced") }

// RuleNames returns the names of the rules.
func (r Ref) RuleNames() []string { return Texts(r.Rules) }

// RulesPath returns the path of the rules.
func (r Ref) RulesPath() exception.Path { return r.Path.With("ruleNames") }

// PolicyKinds returns the kinds of the policies.
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
	IsText           bool // otherwise the expression is in [Exception.Unread]
}

// Control is an entry of spec.podSecurity.
type Control struct {
	Path        exception.Path
	Name, Field string
	Images      []Located
	Values      []Located
}

// Texts returns texts without their paths.
//
//go:noinline
func Texts(all []Located) []string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = one.Text
	}
	return texts
}

// The kinds of exceptions: with a match, and with match conditions.
var (
	MatchKind     = exception.GroupKind{Group: exception.KyvernoGroup, Kind: exception.Kind}
	ConditionKind = exception.GroupKind{Group: exception.PoliciesGroup, Kind: exception.Kind}
)

// Kinds returns the kinds of exceptions.
func Kinds() []exception.GroupKind { return []exception.GroupKind{MatchKind, ConditionKind} }

// APIVersion returns the apiVersion in which polex writes exceptions of a kind.
func APIVersion(kind exception.GroupKind) string { return MatchDeprecated.Newest(kind) }

// Read reads a document of one of the [Kinds]. It returns nil for other kinds.
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
		return Control{Path: c.path, Name: r.text(c.at("controlName")).Text,
			Field: r.text(c.at("restrictedField")).Text, Images: r.texts(c.at("images")),
			Values: r.texts(c.at("values"))}
	})
	e.Preconditions = r.mapping(spec.at("conditions")).tree
	e.Background = spec.tree["background"] != false
}

func (r *reader) ofConditions(e *Exception, spec object) {
	list := spec.at("policyRefs")
	e.RefsPath, e.ScopePath = list.path(), exception.Path{"spec", "matchConditions"}
	e.Refs = each(r, list, func(ref object) Ref {
		return Ref{Group: exception.PoliciesGroup, Path: ref.path, Name: r.text(ref.at("name")),
			Kind: r.text(ref.at("kind"))}
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

// Unread is a value of another type than its field.
type Unread struct {
	Path            exception.Path
	Expected, Found string // such as "a list", "a number"
}

// maxUnread limits the list for one document; only its presence affects decisions.
const maxUnread = 200

// reader reads untyped values. A value of another type than its field is read as empty and listed.
type reader struct{ unread []Unread }

// node is a value with its location. The path is built on demand, because most fields are absent.
type node struct {
	value any
	in    exception.Path
	key   any
}

//go:noinline
func (n node) path() exception.Path { return n.in.With(n.key) }

// object is a mapping with its path.
type object struct {
	tree map[string]any
	path exception.Path
}

//go:noinline
func (f object) at(key string) node { return node{f.tree[key], f.path, key} }

func (r *reader) misread(f node, expected string) {
	if len(r.unread) == maxUnread {
		return
	}
	found := "a number"
	switch f.value.(type) {
	case nil:
		found = "nothing"
	case map[string]any:
		found = "keys with values"
	case []any:
		found = "a list"
	case string:
		found = "a text"
	case bool:
		found = "true or false"
	}
	r.unread = append(r.unread, Unread{f.path(), expected, found})
}

// typed returns the value of a node, if it has the type, or the zero value. An absent value is no misreading.
func typed[T any](r *reader, f node, expected string) T {
	value, ok := f.value.(T)
	if !ok && f.value != nil {
		r.misread(f, expected)
	}
	return value
}

func (r *reader) mapping(f node) object {
	return object{typed[map[string]any](r, f, "keys with values"), f.path()}
}

// each reads the mappings of a list. It returns nil if there is no list.
func each[T any](r *reader, list node, read func(object) T) []T {
	items := typed[[]any](r, list, "a list")
	if items == nil {
		return nil
	}
	all, path := make([]T, len(items)), list.path()
	for i, item := range items {
		all[i] = read(r.mapping(node{item, path, i}))
	}
	return all
}

func (r *reader) text(f node) Located { return Located{typed[string](r, f, "a text"), f.path()} }

func (r *reader) texts(f node) []Located {
	items := typed[[]any](r, f, "a list")
	if len(items) == 0 { // so that no path is built
		return []Located{}
	}
	all, path := make([]Located, 0, len(items)), f.path()
	for i, item := range items {
		if text, ok := item.(string); ok {
			all = append(all, Located{text, path.With(i)})
		} else {
			r.misread(node{item, path, i}, "a text")
		}
	}
	return all
}

// textsOf reads a mapping of texts. It returns nil if there is no mapping.
func (r *reader) textsOf(f node) map[string]string {
	tree := object{typed[map[string]any](r, f, "keys with values"), nil}
	if tree.tree == nil {
		return nil
	}
	tree.path = f.path()
	all := make(map[string]string, len(tree.tree))
	for key, value := range tree.tree {
		if text, ok := value.(string); ok {
			all[key] = text
		} else {
			r.misread(tree.at(key), "a text")
		}
	}
	return all
}
