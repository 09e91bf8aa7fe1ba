package promotion

import (
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// MaxChanges is the maximum number of differences that [Changes] returns.
const MaxChanges = 100

// Changes returns the differences between a document of a move and the signed one that it replaces:
// Old is the signed value, New the new one. It returns none if the document replaces nothing, or if
// the old one cannot be read.
func Changes(m *Move, doc *exception.Document) []seal.Difference {
	for _, r := range m.Replaces {
		for _, old := range r.Documents {
			if old.Identity() != doc.Identity() {
				continue
			}
			return seal.Compare(message(doc), message(old), MaxChanges)
		}
	}
	return nil
}

// message returns the signed message of a document, or the document itself if it is not signed.
func message(doc *exception.Document) *exception.Document {
	s, err := seal.Read(doc)
	if err != nil {
		return doc
	}
	signed, err := seal.ParseMessage(s.Message)
	if err != nil {
		return doc
	}
	return signed
}
