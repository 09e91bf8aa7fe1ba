package kyverno

import (
	"regexp"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// KindSelector is one entry of kinds, split as in Kyverno.
type KindSelector struct{ Group, Version, Kind, Subresource string }

var versionForm = regexp.MustCompile(`^(v\d((alpha|beta)\d)?|\*)$`)

// ParseKind parses the forms Kind, version/Kind and group/version/Kind. Each can end with
// /subresource or .subresource.
func ParseKind(text string) KindSelector {
	last := strings.LastIndex(text, "/") + 1
	if strings.Count(text[:last], "/")+strings.Count(text[last:], ".") >= 4 {
		return KindSelector{} // Kyverno matches nothing with it
	}
	parts := strings.Split(text, "/")
	parts = append(parts[:len(parts)-1], strings.Split(text[last:], ".")...)
	switch len(parts) {
	case 1:
		return KindSelector{"*", "*", parts[0], ""}
	case 2:
		switch {
		case parts[0] == "*" && parts[1] == "*":
			return KindSelector{"*", "*", "*", "*"}
		case parts[0] == "*" && strings.ToLower(parts[1]) == parts[1]:
			return KindSelector{"*", "*", "*", parts[1]}
		case versionForm.MatchString(parts[0]):
			return KindSelector{"*", parts[0], parts[1], ""}
		default:
			return KindSelector{"*", "*", parts[0], parts[1]}
		}
	case 3:
		if versionForm.MatchString(parts[0]) {
			return KindSelector{"*", parts[0], parts[1], parts[2]}
		}
		return KindSelector{parts[0], parts[1], parts[2], ""}
	default:
		return KindSelector{parts[0], parts[1], parts[2], parts[3]}
	}
}

// Covers reports whether a selector can match a kind of one of the groups.
func (k KindSelector) Covers(kind string, groups ...string) bool {
	_, inGroup := wildcard.OverlapsAny(k.Group, groups)
	return inGroup && wildcard.Overlap(k.Kind, kind)
}

// Takes reports whether a selector matches a kind itself and not a subresource of it.
func (k KindSelector) Takes(work *wildcard.Meter, group, version, kind string) bool {
	return work.Fits(k.Kind, kind) && work.Fits(k.Group, group) && work.Fits(k.Version, version) &&
		work.Fits(k.Subresource, "")
}
