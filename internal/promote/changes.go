package promote

import (
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// MaxChanges is how many differences [Changes] returns at most.
const MaxChanges = 100

// Changes returns where a document of a move differs from the signed one that it
// takes the place of, field by field: Old is what was signed, New what is to be.
// There is none for a document that replaces nothing, or nothing that can be
// read.
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

// message returns what a document's seal says was signed, or the document itself
// where it has none.
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
