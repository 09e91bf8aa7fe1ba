package shape

import (
	"fmt"
	"strings"

	"github.com/polex-dev/polex/pkg/shape/internal/wildcard"
)

// A filter that lists kinds means no subresource, except that Pod covers its
// ephemeral containers.
const (
	celNoSubresource    = "(!has(request.subResource) || request.subResource == '')"
	celPodNoSubresource = "(!has(request.subResource) || request.subResource == '' || request.subResource == 'ephemeralcontainers' && it.apiVersion == 'v1' && it.kind == 'Pod')"
)

// ofKinds writes the kinds of a filter. Kyverno asks about the kind that a
// request's path names, and a subresource is often of another one: the object in
// the request does not say which, so that subresources have no counterpart.
func (t *translator) ofKinds(kinds []located) []string {
	if len(kinds) == 0 {
		return nil
	}
	var either []string
	unlimited, pod := false, false
	for _, k := range kinds {
		s := parseKind(k.text)
		if s.subresource != "" {
			t.note(k.path, fmt.Sprintf("%q speaks of a subresource, whose object does not say what it belongs to", k.text), "write the new form by hand with request.resource and request.subResource")
			continue
		}
		if s.kind == "" {
			t.note(k.path, fmt.Sprintf("%q is no kind as Kyverno reads it, and matches nothing", k.text), "write Kind, version/Kind or group/version/Kind")
			continue
		}
		pod = pod || fitsPattern(s.group, "") && fitsPattern(s.version, "v1") && fitsPattern(s.kind, "Pod")
		condition := s.condition()
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

// condition says in CEL what a selector without a subresource says.
func (k kindSelector) condition() string {
	var all []string
	if !anyText(k.group) || !anyText(k.version) {
		all = append(all, k.apiVersion())
	}
	if !anyText(k.kind) {
		all = append(all, test("it.kind", k.kind, inName))
	}
	if len(all) > 1 {
		return "(" + strings.Join(all, " && ") + ")"
	}
	return strings.Join(all, "")
}

// apiVersion says in CEL what a selector says of group and version, which an
// object writes as one: "v1" for the group without a name, "apps/v1" otherwise.
func (k kindSelector) apiVersion() string {
	const field = "it.apiVersion"
	group := regular(k.group, inPart) + "/"
	switch {
	case k.group == "":
		if !wildcard.In(k.version) {
			return field + " == " + celText(k.version)
		}
		group = ""
	case anyText(k.group):
		group = "(" + group + ")?"
	case !wildcard.In(k.group + k.version):
		return field + " == " + celText(k.group+"/"+k.version)
	}
	return field + ".matches(" + celText("^"+group+regular(k.version, inPart)+"$") + ")"
}

// mayBeNamespace reports whether the filter takes an object whose kind is
// Namespace, of whichever group.
func (f filter) mayBeNamespace() bool {
	for _, k := range f.kinds {
		if fitsPattern(parseKind(k.text).kind, "Namespace") {
			return true
		}
	}
	return len(f.kinds) == 0
}
