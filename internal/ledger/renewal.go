package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// Renewal is which exception another one takes up after, as that was signed.
type Renewal struct {
	exception.Renewal
	// Of is the predecessor; nil where the history never had it with a seal that held.
	Of *Entry
}

// Chain are exceptions that renew each other.
type Chain struct {
	// Entries are in the order of their numbers. The first is where the chain begins,
	// as far as the history has it; a predecessor can have several successors.
	Entries []*Entry `json:"-"`
	// Renewals is the highest number of renewals in a row that was signed.
	Renewals int `json:"renewals"`
	// From is the first start and To the last end, as they were signed. To is zero
	// where one of them has no end, and From where no start is known.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
}

// First returns the exception with which the chain begins.
func (c *Chain) First() *Entry { return c.Entries[0] }

// Last returns the exception that is there, or else was, of the highest number.
func (c *Chain) Last() *Entry {
	last := c.Entries[len(c.Entries)-1]
	for _, e := range c.Entries {
		if e.State.Here() {
			last = e
		}
	}
	return last
}

// Length is how long the chain is, from its first start to its last end, gaps
// included. It is not known of one without an end.
func (c *Chain) Length() (length time.Duration, known bool) {
	if c.From.IsZero() || c.To.IsZero() {
		return 0, false
	}
	return c.To.Sub(c.From), true
}

// since says in words when the chain begins.
func (c *Chain) since() string {
	if c.From.IsZero() {
		return ""
	}
	return ", since " + clock(c.From)
}

// Predecessor is what an entry says that it renews. It has to renew something.
func (e *Entry) Predecessor() exception.Identity {
	before := e.Identity
	before.Name = e.Renews.Name
	return before
}

// number is how many renewals in a row an entry says that it is the last of.
func (e *Entry) number() int {
	if e.Renews == nil {
		return 0
	}
	return e.Renews.Number
}

// start is when an entry begins to count, as far as anybody witnessed it.
func (e *Entry) start() time.Time {
	if e.StartsAt.After(e.Seal.SignedAt) {
		return e.StartsAt
	}
	return e.Seal.SignedAt
}

// wasValid reports whether an exception counted once. Of one without a signing time
// that has expired, that is as much as can be told.
func (e *Entry) wasValid() bool {
	return e.Seal != nil && (e.Verified || e.Seal.AtSigning.Reason == Unwitnessed)
}

// signed is a message under a name.
type signed struct {
	identity exception.IdentityKey
	digest   string
}

// renewals finds the predecessor of each exception that was signed as a renewal, and
// says where there is none. The entries are in the order of their appearance.
func (r *reading) renewals() {
	met := map[signed][]*Entry{}
	named := map[exception.IdentityKey]*Entry{} // the last of its name
	for _, e := range r.ledger.Entries {
		if e.Seal == nil {
			continue
		}
		named[e.key.identity] = e
		if e.Seal.MessageDigest != "" {
			key := signed{e.key.identity, e.Seal.MessageDigest}
			met[key] = append(met[key], e)
		}
	}
	for _, e := range r.ledger.Entries {
		if !e.Verified || e.Appeared == nil {
			continue
		}
		if e.badRenewal != "" {
			r.notARenewal(e, "its reference to the renewed exception is invalid: "+e.badRenewal)
		}
		if e.Renews == nil {
			continue
		}
		before := e.Predecessor()
		same := met[signed{before.Key(), e.Renews.Digest}]
		// Of several appearances of one message it is the last that held.
		for _, one := range same {
			if one.wasValid() {
				e.Renews.Of = one
			}
		}
		if of := e.Renews.Of; of != nil {
			of.RenewedBy = append(of.RenewedBy, e)
			if of.Verified && e.Renews.Number != of.number()+1 {
				r.notARenewal(e, fmt.Sprintf("it says that it is renewal %d of %s, and it is %d", e.Renews.Number, before, of.number()+1))
			}
			continue
		}
		if r.ledger.Shallow {
			continue // it may have been there before
		}
		switch other := named[before.Key()]; {
		case len(same) > 0:
			r.notARenewal(e, fmt.Sprintf("it renews %s, and the signature of that one is invalid: %s", before, same[0].Seal.Now.Detail))
		case other != nil && other.Seal.MessageDigest != "":
			r.notARenewal(e, fmt.Sprintf("it renews %s with the digest %s, and the signed one of that name has %s", before, e.Renews.Digest, other.Seal.MessageDigest))
		default:
			r.notARenewal(e, fmt.Sprintf("it says that it renews %s, which was never signed and there", before))
		}
	}
	r.chains()
}

func (r *reading) notARenewal(e *Entry, message string) {
	r.find(Finding{Kind: NotARenewal, Object: e.Identity.String(), File: e.File, Commit: e.Appeared.Commit, Message: message,
		Hint: "find out who signed it: polex-sign promote refuses it, and its record of approvals does not count"})
}

// chains puts together what renews each other.
func (r *reading) chains() {
	for _, e := range r.ledger.Entries {
		if e.Renews != nil || len(e.RenewedBy) > 0 {
			c := r.chain(e)
			c.Entries = append(c.Entries, e)
		}
	}
	for _, c := range r.ledger.Chains {
		c.settle()
	}
	slices.SortStableFunc(r.ledger.Chains, func(a, b *Chain) int {
		return cmp.Or(cmp.Compare(b.Renewals, a.Renewals), cmp.Compare(a.First().Identity.String(), b.First().Identity.String()))
	})
}

// chain returns that of an entry, which is its predecessor's. This ends, for no message
// holds the digest of one that holds its own.
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

func (c *Chain) settle() {
	slices.SortStableFunc(c.Entries, func(a, b *Entry) int { return cmp.Compare(a.number(), b.number()) })
	endless := false
	for _, e := range c.Entries {
		c.Renewals = max(c.Renewals, e.number())
		if from := e.start(); !from.IsZero() && (c.From.IsZero() || from.Before(c.From)) {
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
