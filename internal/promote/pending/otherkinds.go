package pending

import (
	"bytes"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// MaxOther is the maximum size in bytes of a file of other kinds.
const MaxOther = 16 << 20

// OtherKinds reports whether a file holds only documents of other kinds
// ([exception.Document.OtherKind]). Such a file may be in the pending folder and stays there. An
// unreadable or empty file does not count. polex-validate and polex-sign both use this function, so
// neither skips a file that the other one checks. kinds are the kinds of the trust policy, which
// are signed; "*" matches any kind.
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
