package manifest

import (
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// SignaturePrefix is the prefix of signature annotations.
const SignaturePrefix = "cosign.sigstore.dev/"

// SignatureKeys returns the sorted keys of the signature annotations.
func SignatureKeys(d *exception.Document) []string {
	annotations, _ := d.Lookup("metadata", "annotations")
	tree, _ := annotations.(map[string]any)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(tree)), func(key string) bool { return !strings.HasPrefix(key, SignaturePrefix) })
}
