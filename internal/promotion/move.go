package promotion

import (
	"fmt"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/promotion/commitmessage"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// Move is one file of a plan.
type Move struct {
	From, To  string                // paths relative to the work tree's root
	Blob      git.Hash              // content of the pending file
	Documents []*exception.Document // as requested; in the result of a run without a destination, as prepared
	// Prepared are the documents to sign. [Checks.Check] makes them, the [Recorder] adds the review records,
	// and the [Signer] signs them. Then they are dropped: thousands of them take much memory.
	Prepared []*exception.Document
	// Predecessors has an element for each document: the signed exception that it renews or
	// replaces, not verified, or nil for a first exception.
	Predecessors []*exception.Document
	// Origin is the commit that added or last changed the file, or nil if the known history does
	// not contain it.
	Origin   *git.Origin
	Replaces []Replaced

	signed     []byte  // the signed file
	logIndexes []int64 // of its log entries
}

// drop forgets the documents to sign. Their array has those of other moves.
func (m *Move) drop() {
	clear(m.Prepared)
	m.Prepared = nil
}

// Signed returns the documents of the signed file. Before the signing, it returns Documents.
func (m *Move) Signed() ([]*exception.Document, error) {
	if m.signed == nil {
		return m.Documents, nil
	}
	docs, refusals, err := readDocuments(m.signed, m.To)
	if err == nil && len(refusals) > 0 {
		err = refusals
	}
	return docs, err
}

// Replaced is a signed file that another one replaces. All its exceptions are signed again.
type Replaced struct {
	Path      string
	Documents []*exception.Document
	blob      git.Hash
}

// Skip is a pending file that this run does not promote, and that is not an error.
type Skip struct {
	File, Reason, Message string
	// Signed reports whether this run had signed the file when it was changed or removed.
	Signed bool
}

func (m *Move) request() pending.Request {
	r := pending.Request{From: m.From, To: m.To}
	for _, doc := range m.Documents {
		r.Documents = append(r.Documents, pending.Document{Identity: doc.Identity(), Position: doc.Position()})
	}
	return r
}

// succeed sets the predecessor of each document: the exception that it renews, or the signed
// exception of the same name. A replacement also continues an exception, so the rules for renewals
// apply to it.
func (m *Move) succeed(renewed []*exception.Document) {
	m.Predecessors = renewed
	signed := map[exception.Identity]*exception.Document{}
	for _, r := range m.Replaces {
		for _, doc := range r.Documents {
			signed[doc.Identity()] = doc
		}
	}
	for i, doc := range m.Documents {
		if m.Predecessors[i] == nil {
			m.Predecessors[i] = signed[doc.Identity()]
		}
	}
}

func (m *Move) askedAt() time.Time {
	if m.Origin == nil {
		return time.Time{}
	}
	return m.Origin.CommittedAt
}

// sign fills in the signed file.
func (m *Move) sign(signed []*exception.Document) (err error) {
	for i, doc := range signed {
		if asked := m.Documents[i].Identity(); doc.Identity() != asked {
			return fmt.Errorf("%s was signed, expected %s", doc.Identity(), asked)
		}
		entry, err := commitmessage.LogEntryOf(doc)
		if err != nil {
			return fmt.Errorf("%s: %w", m.To, err)
		}
		if entry != nil {
			m.logIndexes = append(m.logIndexes, entry.Index)
		}
	}
	m.signed, err = exception.Join(signed)
	if err == nil && len(m.signed) > git.MaxFile {
		err = git.ErrTooLarge // the next run could not read it
	}
	if err != nil {
		return fmt.Errorf("%s: %w", m.To, err)
	}
	return nil
}

// Changes returns up to 100 differences between a document of a move and the signed one that it replaces:
// Old is the signed value, New the new one. It returns none if the document replaces nothing, or if
// the old one cannot be read.
func Changes(m *Move, doc *exception.Document) []seal.Difference {
	const most = 100 // differences
	for _, r := range m.Replaces {
		for _, old := range r.Documents {
			if old.Identity() != doc.Identity() {
				continue
			}
			return seal.Compare(message(doc), message(old), most)
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
