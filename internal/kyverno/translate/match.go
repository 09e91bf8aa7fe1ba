package translate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

// The values that conditions read. A filter applies to the new object, or to the old one in a deletion.
const (
	celObject    = "[request.operation == 'DELETE' ? oldObject : object].exists(it,\n"
	celName      = "it.metadata.name"
	celNamespace = "it.metadata.namespace"
	// Kyverno uses generateName for an object without a name.
	celAnyName = "[has(it.metadata.name) && it.metadata.name != '' ? it.metadata.name : " +
		"has(it.metadata.generateName) ? it.metadata.generateName : '']"
)

// match writes match.any or match.all as one CEL expression, or adds notes.
func (t *translator) match() string {
	filters, between := t.Match.Any, " ||\n"
	if len(filters) == 0 {
		filters, between = t.Match.All, " &&\n"
	}
	if len(filters) == 0 {
		t.note(t.ScopePath, "name the resources", "the match names no resource, so the exception exempts nothing")
	}
	parts := make([]string, 0, len(filters))
	for _, f := range filters {
		conditions := t.filter(f)
		parts = append(parts, "  ("+strings.Join(conditions, " &&\n   ")+")")
	}
	text := strings.Join(parts, between)
	if t.namespace != "" {
		text = "  (\n" + text + "\n  ) && " + present(celNamespace, []string{t.namespace})
	}
	return celObject + text + "\n)"
}

// filter returns the conditions of one filter, which "and" joins.
func (t *translator) filter(f kyverno.Filter) []string {
	if f.Empty() {
		t.note(f.Path, "remove it", "the filter is empty, and Kyverno matches nothing with it")
		return nil
	}
	at := f.Path.With("resources")
	if len(f.Operations) > 0 {
		t.note(at.With("operations"), "remove them, or write the new form by hand with request.operation",
			"Kyverno ignores operations in an exception, so it exempts more than it states")
	}
	conditions := t.ofKinds(f.Kinds)
	for _, more := range [][]string{
		named(f), inNamespaces(f), annotated(f.Annotations),
		t.selected(f.Selector, labelsOf{"it.metadata.labels", "has(it.metadata.labels)"}),
		t.inSelectedNamespaces(f), t.byUser(f),
	} {
		conditions = append(conditions, more...)
	}
	if len(conditions) == 0 && len(t.notes) == 0 {
		t.note(f.Path, "name the resources", "the filter matches every resource, and a translation would hide that")
	}
	return conditions
}

// named writes the names of a filter. The schema permits either name or names.
func named(f kyverno.Filter) []string {
	patterns := kyverno.Texts(f.Names)
	if f.Name.Text != "" {
		patterns = []string{f.Name.Text}
	}
	if condition := among("name", patterns); condition != "" {
		return []string{celAnyName + ".exists(name, " + condition + ")"}
	}
	return nil
}

// inNamespaces writes the namespaces of a filter. For Kyverno, a Namespace is in itself.
func inNamespaces(f kyverno.Filter) []string {
	patterns := kyverno.Texts(f.Namespaces)
	condition := present(celNamespace, patterns)
	switch {
	case condition == "":
		return nil
	case mayBeNamespace(f):
		return []string{fmt.Sprintf("(it.kind == 'Namespace' ? %s : %s)", present(celName, patterns), condition)}
	default:
		return []string{condition}
	}
}

// A filter with kinds excludes subresources, but Pod includes its ephemeral containers.
const (
	celNoSubresource    = "(!has(request.subResource) || request.subResource == '')"
	celPodNoSubresource = "(!has(request.subResource) || request.subResource == '' || request.subResource == " +
		"'ephemeralcontainers' && it.apiVersion == 'v1' && it.kind == 'Pod')"
)

// ofKinds writes the kinds of a filter. Kyverno compares the kind of the request's path. The object
// of a subresource often has another kind, so the new form cannot express subresources.
func (t *translator) ofKinds(kinds []kyverno.Located) []string {
	if len(kinds) == 0 {
		return nil
	}
	var either []string
	unlimited, pod := false, false
	for _, k := range kinds {
		s := kyverno.ParseKind(k.Text)
		if s.Subresource != "" {
			t.note(k.Path, "write the new form by hand with request.resource and request.subResource",
				"%q is a subresource, and its object does not name the object that it belongs to", k.Text)
			continue
		}
		if s.Kind == "" {
			t.note(k.Path, "write Kind, version/Kind or group/version/Kind",
				"%q is not a kind that Kyverno can read, and matches nothing", k.Text)
			continue
		}
		pod = pod || wildcard.Fits(s.Group, "") && wildcard.Fits(s.Version, "v1") && wildcard.Fits(s.Kind, "Pod")
		condition := kindCondition(s)
		unlimited = unlimited || condition == ""
		either = append(either, condition)
	}
	subresource := celNoSubresource
	if pod {
		subresource = celPodNoSubresource
	}
	if unlimited {
		return []string{subresource}
	}
	return []string{anyOf(either), subresource}
}

// kindCondition writes a selector without a subresource in CEL.
func kindCondition(k kyverno.KindSelector) string {
	var all []string
	if !anyText(k.Group) || !anyText(k.Version) {
		all = append(all, apiVersionCondition(k))
	}
	if !anyText(k.Kind) {
		all = append(all, test("it.kind", k.Kind, inName))
	}
	if len(all) > 1 {
		return "(" + strings.Join(all, " && ") + ")"
	}
	return strings.Join(all, "")
}

// apiVersionCondition writes the group and version of a selector in CEL. apiVersion combines them:
// "v1" for the group "", otherwise "apps/v1".
func apiVersionCondition(k kyverno.KindSelector) string {
	const field = "it.apiVersion"
	group := regular(k.Group, inPart) + "/"
	switch {
	case k.Group == "":
		if !wildcard.In(k.Version) {
			return field + " == " + celText(k.Version)
		}
		group = ""
	case anyText(k.Group):
		group = "(" + group + ")?"
	case !wildcard.In(k.Group + k.Version):
		return field + " == " + celText(k.Group+"/"+k.Version)
	}
	return field + ".matches(" + celText("^"+group+regular(k.Version, inPart)+"$") + ")"
}

// mayBeNamespace reports whether the filter can match an object of kind Namespace, in any group.
func mayBeNamespace(f kyverno.Filter) bool {
	return len(f.Kinds) == 0 || slices.ContainsFunc(f.Kinds,
		func(k kyverno.Located) bool { return wildcard.Fits(kyverno.ParseKind(k.Text).Kind, "Namespace") })
}

// byUser writes the subjects of a filter. The new form cannot express roles: Kyverno looks up the
// roles of a user, and a condition cannot.
func (t *translator) byUser(f kyverno.Filter) []string {
	for field, roles := range map[string][]kyverno.Located{"roles": f.Roles, "clusterRoles": f.ClusterRoles} {
		if len(roles) > 0 {
			t.note(f.Path.With(field), "name subjects: users, groups or service accounts",
				"%s have no counterpart: the request names its user, and not their roles", field)
		}
	}
	if len(f.Subjects) == 0 {
		return nil
	}
	if t.Background {
		t.note(f.Path.With("subjects"), "write background: false first",
			"Kyverno rejects subjects in an exception for background scans, which have "+"no user")
	}
	var either []string
	for _, s := range f.Subjects {
		switch s.Kind {
		case "User":
			either = append(either, "has(request.userInfo.username) && "+
				test("request.userInfo.username", s.Name, inFree))
		case "ServiceAccount":
			either = append(either, "has(request.userInfo.username) && "+
				test("request.userInfo.username", "system:serviceaccount:"+s.Namespace+":"+s.Name, inFree))
		case "Group":
			either = append(either, "has(request.userInfo.groups) && request.userInfo.groups.exists(g, "+
				test("g", s.Name, inFree)+")")
		default:
			t.note(s.Path.With("kind"), "write User, Group or ServiceAccount",
				"%q is not a kind of subject, and Kyverno matches nothing with it", s.Kind)
		}
	}
	return []string{anyOf(either)}
}

// asksForUsers reports whether the match requires a user. A background scan has none, so the
// exception never applies there.
func (t *translator) asksForUsers() bool {
	asks := func(f kyverno.Filter) bool {
		return len(f.Subjects) > 0 && !slices.ContainsFunc(f.Subjects,
			func(s kyverno.Subject) bool { return s.Kind == "User" && wildcard.Fits(s.Name, "") })
	}
	anyOf, allOf := t.Match.Any, t.Match.All
	if len(anyOf) > 0 {
		return !slices.ContainsFunc(anyOf, func(f kyverno.Filter) bool { return !asks(f) })
	}
	return slices.ContainsFunc(allOf, asks)
}

// statementsOf are the annotations that become fields, by their keys in spec.properties.
var statementsOf = map[string]string{
	"reason":      exception.AnnotationReason,
	"ticket":      exception.AnnotationTicket,
	"approved-by": exception.AnnotationApprovedBy,
}
