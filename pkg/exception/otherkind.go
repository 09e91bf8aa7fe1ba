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

// OtherKind reports whether no tool can read the document as an exception or as a list of objects.
// If it is unsure, it returns false. Some readers of JSON ignore letter case, so letter case alone
// does not make another kind, group or key. In the API groups of exceptions, only kinds of policies
// are other kinds. A document without apiVersion and kind must have the file name of a Kustomize
// file.
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
	if !plainKind.MatchString(gk.Kind) || !plainAPIVersion.MatchString(d.APIVersion()) || gk.LooksLikeException() ||
		gk.LooksLikeList() {
		return false
	}
	return gk.Group != KyvernoGroup && gk.Group != PoliciesGroup || strings.HasSuffix(gk.Kind, "Policy")
}

// LooksLikeException reports whether the kind contains the kind of exceptions, in any letter case
// and any API group.
func (gk GroupKind) LooksLikeException() bool {
	return strings.Contains(strings.ToLower(gk.Kind), strings.ToLower(Kind))
}

// LooksLikeList reports whether the kind ends with "List", in any letter case.
func (gk GroupKind) LooksLikeList() bool {
	return strings.HasSuffix(strings.ToLower(gk.Kind), "list")
}
