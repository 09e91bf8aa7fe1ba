package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

const (
	domain = "polex.dev"
	// maxUnknown limits the keys that [UnknownKeys] compares and returns.
	maxUnknown = 100
)

// UnknownAnnotation is the reason of a finding for an [UnknownKey].
var UnknownAnnotation = exception.Reason{Name: "unknown-annotation",
	Doc: "the annotation or label looks like one of polex, and polex ignores it"}

// UnknownKey is a key that a person reads as a statement to polex, and that polex does not read.
type UnknownKey struct {
	Path          exception.Path
	Message, Hint string // untrusted text quoted
}

// UnknownKeys returns the annotations, labels and properties of polex that polex does not define, sorted, at most
// 100. Such a key is mostly a misspelt limit, such as polex.dev/expire-at. own lists keys that the configuration
// names.
func UnknownKeys(d *exception.Document, own []string) []UnknownKey {
	var limits []string
	for _, key := range []string{exception.AnnotationStartsAt, exception.AnnotationExpiresIn,
		exception.AnnotationExpiresAt, exception.AnnotationCluster} {
		limits = append(limits, strings.TrimPrefix(key, domain+"/"))
	}
	defined := exception.Annotations()
	var unknown []UnknownKey
	for _, of := range []struct {
		path exception.Path
		kind string
	}{{exception.Path{"metadata", "annotations"}, "annotation"}, {exception.Path{"metadata", "labels"}, "label"},
		{exception.Path{"spec", "properties"}, "property"}} {
		value, _ := d.Lookup(of.path...)
		keys, _ := value.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			isDefined := slices.Contains(defined, key)
			limit := of.kind == "property" && slices.Contains(limits, key)
			switch {
			case len(unknown) == maxUnknown:
				return unknown
			case slices.Contains(own, key), isDefined && of.kind == "annotation", !limit && !claims(key, defined):
				continue
			}
			_, name, _ := strings.Cut(key, "/")
			hint := cmp.Or(exception.Nearest(key, defined), exception.Nearest(domain+"/"+name, defined))
			switch {
			case isDefined:
				hint = "write it as an annotation"
			case limit:
				hint = "write the annotation " + domain + "/" + key
			case hint == "":
				hint = "remove it, or use a key outside of " + domain + "; polex reads: " +
					strings.Join(defined[:8], ", ")
			}
			unknown = append(unknown, UnknownKey{Path: of.path.With(key), Hint: hint,
				Message: fmt.Sprintf("polex does not read the %s %q", of.kind, exception.Shortened(key))})
		}
	}
	return unknown
}

// claims reports whether a key looks like one of polex: it is under polex.dev in any letter case, or a defined name
// is under a domain like it, such as polex.io.
func claims(key string, defined []string) bool {
	under, name, _ := strings.Cut(strings.ToLower(key), "/")
	rest, ours := strings.CutPrefix(under, domain)
	if ours && strings.TrimLeft(rest, ".-_") != rest || under == domain || strings.HasSuffix(under, "."+domain) {
		return true
	}
	return slices.Contains(defined, domain+"/"+name) &&
		(strings.HasPrefix(under, "polex.") || exception.Nearest(under, []string{domain}) != "")
}
