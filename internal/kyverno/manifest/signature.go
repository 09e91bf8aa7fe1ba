package manifest

import (
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// SignaturePrefix begins the annotations of a signature.
const SignaturePrefix = "cosign.sigstore.dev/"

// SignatureKeys returns the annotations that belong to a signature, sorted.
func SignatureKeys(d *exception.Document) []string {
	annotations, _ := d.Lookup("metadata", "annotations")
	tree, _ := annotations.(map[string]any)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(tree)), func(key string) bool { return !strings.HasPrefix(key, SignaturePrefix) })
}
