package guard

import (
	"crypto/sha256"
	"time"

	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/utils/lru"

	"github.com/polex-dev/polex/pkg/exception"
)

// content is the digest of an object without its status and without the fields that the API server
// writes with every change. The verdict depends on none of these fields: under the same rules and
// at the same time, equal contents get the same verdict.
type content [sha256.Size]byte

// contentOf returns the content of a document. CBOR is deterministic here, and unlike JSON it
// distinguishes 1 from 1.0. It can encode all values of a document.
func contentOf(doc *exception.Document) content {
	raw, err := direct.Marshal(plain(doc, statusSubresource))
	if err != nil {
		panic(err)
	}
	return sha256.Sum256(raw)
}

// maxAdmitted limits the verdicts that wait for the news that their object is stored. The verdict
// that was unused for the longest time is dropped first, and its object is verified again.
const maxAdmitted = 512

// admissions remembers the contents that were just verified for a request, so that the controller
// does not verify them again once they are stored. It belongs to one set of rules. It does not
// remember rejected objects.
type admissions struct{ verdicts *lru.Cache }

type admitted struct {
	content content
	cluster string
}

type verdict struct {
	facts Facts
	at    time.Time
}

// keep remembers that a document was verified at a time.
func (a admissions) keep(doc *exception.Document, cluster string, facts Facts, at time.Time) {
	a.verdicts.Add(admitted{contentOf(doc), cluster}, verdict{facts, at})
}

// verified returns the facts of a content that was verified, if they are still valid. They are not
// if the clock was set back before the verification, which is not before the start, or after the
// expiry.
func (a admissions) verified(c content, cluster string, now time.Time) (Facts, bool) {
	value, _ := a.verdicts.Get(admitted{c, cluster})
	v, known := value.(verdict)
	end := v.facts.ExpiresAt
	if !known || now.Before(v.at) || !end.IsZero() && !now.Before(end) {
		return Facts{}, false
	}
	return v.facts, true
}
