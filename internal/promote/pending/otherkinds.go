package pending

import (
	"bytes"

	"github.com/polex-dev/polex/pkg/exception"
)

// MaxOther is the most bytes of a file that [OtherKinds] takes for one of other kinds.
const MaxOther = 16 << 20

// OtherKinds reports whether a file holds documents of other kinds alone
// ([exception.Document.OtherKind]): it may lie in the pending folder, and stays there. A
// file that cannot be read, or without a document, is not such a file. polex-validate and
// polex-sign ask this one function, so that neither skips a file that the other one judges.
func OtherKinds(content []byte, name string) bool {
	found := false
	if len(content) > MaxOther {
		return false
	}
	for doc, err := range exception.NewReader(bytes.NewReader(content), name).All() {
		if err != nil || !doc.OtherKind() {
			return false
		}
		found = true
	}
	return found
}
