package exception

import (
	"path"
	"regexp"
	"strings"
)

var (
	plainKind       = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	plainAPIVersion = regexp.MustCompile(`^([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?v[0-9]+((alpha|beta)[0-9]+)?$`)
)

// OtherKind reports whether no tool can take the document for an exception or for a list
// of objects. When it is unsure, it returns false. Some readers of JSON ignore the case of
// letters, so that a kind, a group or a key in another case is not another one. In the API
// groups of exceptions, only the kinds of policies are other kinds. A document without
// apiVersion and kind is one only where Kustomize knows it by the name of its file.
func (d *Document) OtherKind() bool {
	typed := false
	for i := range d.root.entries {
		for _, name := range []string{"apiVersion", "kind", "items"} {
			if key := d.root.entries[i].key; strings.EqualFold(key, name) {
				if typed = true; key != name || name == "items" {
					return false
				}
			}
		}
	}
	if name := path.Base(d.File()); !typed {
		return name == "kustomization.yaml" || name == "kustomization.yml"
	}
	gk := d.GroupKind()
	if !plainKind.MatchString(gk.Kind) || !plainAPIVersion.MatchString(d.APIVersion()) || gk.LooksLikeException() || gk.LooksLikeList() {
		return false
	}
	return gk.Group != KyvernoGroup && gk.Group != PoliciesGroup || strings.HasSuffix(gk.Kind, "Policy")
}

// LooksLikeException reports whether the kind is the one of exceptions but for the case of
// its letters, its API group, or what stands before or behind it.
func (gk GroupKind) LooksLikeException() bool {
	return strings.Contains(strings.ToLower(gk.Kind), strings.ToLower(Kind))
}

// LooksLikeList reports whether the kind is one of lists, in any case of its letters.
func (gk GroupKind) LooksLikeList() bool {
	return strings.HasSuffix(strings.ToLower(gk.Kind), "list")
}
