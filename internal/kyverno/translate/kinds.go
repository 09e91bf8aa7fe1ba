package translate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

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
			t.note(k.Path,
				fmt.Sprintf("%q is a subresource, and its object does not name the object that it belongs to", k.Text),
				"write the new form by hand with request.resource and request.subResource")
			continue
		}
		if s.Kind == "" {
			t.note(k.Path, fmt.Sprintf("%q is not a kind that Kyverno can read, and matches nothing", k.Text),
				"write Kind, version/Kind or group/version/Kind")
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
	return len(f.Kinds) == 0 || slices.ContainsFunc(f.Kinds, func(k kyverno.Located) bool {
		return wildcard.Fits(kyverno.ParseKind(k.Text).Kind, "Namespace")
	})
}
