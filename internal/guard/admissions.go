package guard

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// content is the digest of an object without its status and without the fields that the API server
// writes with every change. The verdict depends on none of these fields: under the same rules and
// at the same time, equal contents get the same verdict.
type content [sha256.Size]byte

func contentOf(doc *exception.Document) content {
	d := digester{Hash: sha256.New()}
	d.value(plain(doc, statusSubresource))
	return content(d.Sum(nil))
}

type digester struct {
	hash.Hash
	buffer []byte
}

func (d *digester) head(kind byte, n uint64) {
	d.buffer = binary.BigEndian.AppendUint64(append(d.buffer[:0], kind), n)
	_, _ = d.Write(d.buffer)
}

func (d *digester) text(s string) {
	d.head('s', uint64(len(s)))
	d.buffer = append(d.buffer[:0], s...)
	_, _ = d.Write(d.buffer)
}

// value writes a value unambiguously: each value begins with its type and, if it has one, its
// length.
func (d *digester) value(value any) {
	switch v := value.(type) {
	case map[string]any:
		d.head('m', uint64(len(v)))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			d.text(key)
			d.value(v[key])
		}
	case []any:
		d.head('l', uint64(len(v)))
		for _, item := range v {
			d.value(item)
		}
	case string:
		d.text(v)
	case int64:
		d.head('i', uint64(v)) //nolint:gosec // as a pattern of bits
	case float64:
		d.head('f', math.Float64bits(v))
	case bool:
		if v {
			d.head('t', 0)
		} else {
			d.head('n', 0)
		}
	default: // null; a document has no other types
		d.head('0', 0)
	}
}

// maxAdmitted limits the verdicts that wait for the news that their object is stored. The oldest
// verdict is dropped first, and its object is verified again.
const maxAdmitted = 512

// admissions remembers the contents that were just verified for a request, so that the controller
// does not verify them again once they are stored. It belongs to one set of rules. It does not
// remember rejected objects.
type admissions struct {
	mu    sync.Mutex
	held  map[admitted]verdict
	order []admitted // a ring, once it is full
	next  int
}

type admitted struct {
	content content
	cluster string
}

type verdict struct {
	facts Facts
	at    time.Time
}

// keep remembers that a document was verified at a time.
func (a *admissions) keep(doc *exception.Document, cluster string, facts Facts, at time.Time) {
	key := admitted{contentOf(doc), cluster}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held == nil {
		a.held = map[admitted]verdict{}
	}
	if _, known := a.held[key]; !known {
		if len(a.order) < maxAdmitted {
			a.order = append(a.order, key)
		} else {
			delete(a.held, a.order[a.next])
			a.order[a.next] = key
			a.next = (a.next + 1) % maxAdmitted
		}
	}
	a.held[key] = verdict{facts, at}
}

// verified returns the facts of a content that was verified, if they are still valid. They are not
// if the clock was set back before the verification, which is not before the start, or after the
// expiry.
func (a *admissions) verified(c content, cluster string, now time.Time) (Facts, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	v, known := a.held[admitted{c, cluster}]
	end := v.facts.ExpiresAt
	if !known || now.Before(v.at) || !end.IsZero() && !now.Before(end) {
		return Facts{}, false
	}
	return v.facts, true
}
