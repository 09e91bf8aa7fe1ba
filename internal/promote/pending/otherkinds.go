package pending

import (
	"bytes"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// MaxOther is the most bytes of a file that [OtherKinds] takes for one of other kinds.
const MaxOther = 16 << 20

// OtherKinds reports whether a file holds documents of other kinds alone
// ([exception.Document.OtherKind]): it may lie in the pending folder, and stays there. A
// file that cannot be read, or without a document, is not such a file. polex-validate and
// polex-sign ask this one function, so that neither skips a file that the other one judges.
// kinds are those of the trust policy: a document of such a kind is signed, and "*" is any.
func OtherKinds(content []byte, name string, kinds []string) bool {
	found := false
	if len(content) > MaxOther {
		return false
	}
	for doc, err := range exception.NewReader(bytes.NewReader(content), name).All() {
		if err != nil || !doc.OtherKind() || slices.ContainsFunc(kinds, func(kind string) bool {
			return kind == "*" || strings.TrimSuffix(kind, ".") == doc.GroupKind().String()
		}) {
			return false
		}
		found = true
	}
	return found
}
