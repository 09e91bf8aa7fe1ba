package draft

import (
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// Draft is an exception that is read to be judged.
type Draft struct {
	Doc  *exception.Document
	Exc  *exception.Exception
	Tree map[string]any
}

// New returns what a document that is an exception is read by.
func New(doc *exception.Document, exc *exception.Exception) *Draft {
	return &Draft{doc, exc, doc.Object()}
}

// Spec returns what stands under spec.
func (d *Draft) Spec() map[string]any {
	spec, _ := d.Tree["spec"].(map[string]any)
	return spec
}

// SealPrefix begins the annotations of a seal.
const SealPrefix = "cosign.sigstore.dev/"

// SealKeys returns the annotations that belong to a seal, sorted.
func (d *Draft) SealKeys() []string {
	metadata, _ := d.Tree["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	var keys []string
	for key := range annotations {
		if strings.HasPrefix(key, SealPrefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
