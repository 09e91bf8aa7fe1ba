package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// Renewal is the signed reference of an entry to the exception that it renews.
type Renewal struct {
	exception.Renewal
	// Of is the predecessor, or nil if the history does not have it with a valid signature.
	Of *Entry
}

// Chain is a sequence of exceptions that renew each other.
type Chain struct {
	// Entries are in the order of their renewal numbers. The first is the oldest one in the
	// history. An exception can have several successors.
	Entries []*Entry `json:"-"`
	// Renewals is the highest signed number of renewals in a row.
	Renewals int `json:"renewals"`
	// From is the earliest start and To the latest expiry. To is zero if one entry never expires,
	// and From is zero if no start is known.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
}

// First returns the first exception of the chain.
func (c *Chain) First() *Entry { return c.Entries[0] }

// Last returns the entry with the highest number that is still in the repository, or else the one
// with the highest number.
func (c *Chain) Last() *Entry {
	last := c.Entries[len(c.Entries)-1]
	for _, e := range c.Entries {
		if e.State.Here() {
			last = e
		}
	}
	return last
}

// Length returns the time from the first start to the last expiry, gaps included. It is not known
// if an entry of the chain never expires.
func (c *Chain) Length() (length time.Duration, known bool) {
	if c.From.IsZero() || c.To.IsZero() {
		return 0, false
	}
	return c.To.Sub(c.From), true
}

// since returns the start of the chain as text.
func (c *Chain) since() string {
	if c.From.IsZero() {
		return ""
	}
	return ", since " + clock(c.From)
}

// Predecessor returns the identity of the exception that e renews. e.Renews must not be nil.
func (e *Entry) Predecessor() exception.Identity {
	before := e.Identity
	before.Name = e.Renews.Name
	return before
}

// Number returns the signed number of renewals in a row, or 0.
func (e *Entry) Number() int {
	if e.Renews == nil {
		return 0
	}
	return e.Renews.Number
}

// Start returns the later one of StartsAt and the signing time. It is zero if neither is known.
func (e *Entry) Start() time.Time {
	if e.StartsAt.After(e.Seal.SignedAt) {
		return e.StartsAt
	}
	return e.Seal.SignedAt
}

// wasValid reports whether an exception was valid at some time. For an expired one without a
// signing time, only the expiry is known to fail, so it counts as valid before.
func (e *Entry) wasValid() bool {
	return e.Seal != nil && (e.Verified || e.Seal.AtSigning.Reason == Unwitnessed)
}

// signed identifies a signed message: its identity and digest.
type signed struct {
	identity exception.IdentityKey
	digest   string
}

// renewals finds the predecessor of each renewal and adds a finding if there is none. The entries
// are in the order of their appearance.
func (r *reading) renewals() {
	signedAs := map[signed][]*Entry{}
	latest := map[exception.IdentityKey]*Entry{} // of its name
	for _, e := range r.ledger.Entries {
		if e.Seal == nil {
			continue
		}
		latest[e.key.identity] = e
		if e.Seal.MessageDigest != "" {
			key := signed{e.key.identity, e.Seal.MessageDigest}
			signedAs[key] = append(signedAs[key], e)
		}
	}
	for _, e := range r.ledger.Entries {
		if !e.Verified || e.Appeared == nil {
			continue
		}
		if e.badRenewal != "" {
			r.notARenewal(e, "its reference to the renewed exception is invalid: %s", e.badRenewal)
		}
		if e.Renews != nil {
			before := e.Predecessor().Key()
			r.predecessor(e, signedAs[signed{before, e.Renews.Digest}], latest[before])
		}
	}
	r.chains()
}

// predecessor links a renewal to the last valid one of the entries with the message that it names.
func (r *reading) predecessor(e *Entry, same []*Entry, latest *Entry) {
	before := e.Predecessor()
	for _, one := range same {
		if one.wasValid() {
			e.Renews.Of = one
		}
	}
	switch of := e.Renews.Of; {
	case of != nil:
		of.RenewedBy = append(of.RenewedBy, e)
		if next := of.Number() + 1; of.Verified && e.Renews.Number != next {
			r.notARenewal(e, "it states that it is renewal %d of %s, expected %d", e.Renews.Number, before, next)
		}
	case r.ledger.Shallow: // it may be in the missing commits
	case len(same) > 0:
		r.notARenewal(e, "it renews %s, and the signature of that one is invalid: %s", before, same[0].Seal.Now.Detail)
	case latest != nil && latest.Seal.MessageDigest != "":
		r.notARenewal(e, "it renews %s with the digest %s, and the signed one of that name has %s",
			before, e.Renews.Digest, latest.Seal.MessageDigest)
	default:
		r.notARenewal(e, "it states that it renews %s, which was never signed under signed/", before)
	}
}

func (r *reading) notARenewal(e *Entry, message string, args ...any) {
	const hint = "find out who signed it: polex-sign promote refuses it, and its record of approvals does not count"
	r.findOf(e, NotARenewal, hint, message, args...)
}

// chains builds the chains of exceptions that renew each other.
func (r *reading) chains() {
	for _, e := range r.ledger.Entries {
		if e.Renews != nil || len(e.RenewedBy) > 0 {
			c := r.chain(e)
			c.Entries = append(c.Entries, e)
		}
	}
	for _, c := range r.ledger.Chains {
		c.complete()
	}
	slices.SortStableFunc(r.ledger.Chains, func(a, b *Chain) int {
		x, y := a.First().Identity.String(), b.First().Identity.String()
		return cmp.Or(cmp.Compare(b.Renewals, a.Renewals), cmp.Compare(x, y))
	})
}

// chain returns the chain of an entry, which is the chain of its predecessor. The recursion ends: a
// message holds the digest of its predecessor, so a cycle of messages is impossible.
func (r *reading) chain(e *Entry) *Chain {
	switch {
	case e.Chain != nil:
	case e.Renews != nil && e.Renews.Of != nil:
		e.Chain = r.chain(e.Renews.Of)
	default:
		e.Chain = &Chain{}
		r.ledger.Chains = append(r.ledger.Chains, e.Chain)
	}
	return e.Chain
}

// complete sorts the entries and sets the other fields.
func (c *Chain) complete() {
	slices.SortStableFunc(c.Entries, func(a, b *Entry) int { return cmp.Compare(a.Number(), b.Number()) })
	endless := false
	for _, e := range c.Entries {
		c.Renewals = max(c.Renewals, e.Number())
		if from := e.Start(); !from.IsZero() && (c.From.IsZero() || from.Before(c.From)) {
			c.From = from
		}
		if e.ExpiresAt.After(c.To) {
			c.To = e.ExpiresAt
		}
		endless = endless || e.ExpiresAt.IsZero()
	}
	if endless {
		c.To = time.Time{}
	}
}
