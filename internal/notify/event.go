package notify

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/usage"
	"github.com/polex-dev/polex/pkg/exception"
)

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	Signed  Kind = "signed"
	Refused Kind = "refused"
	Ending  Kind = "ending" // it expires soon
	Ended   Kind = "ended"
	Unused  Kind = "unused" // the cluster does without it
)

// Event is a notification about one exception. Its texts are untrusted, and the renderers make them
// inert. docs/reference/audit.md describes its form in [JSON].
type Event struct {
	Kind     Kind               `json:"event"`
	Identity exception.Identity `json:"-"`
	// Verified means that the signature is or was valid. The fields after Refusal are then signed
	// texts; otherwise they are empty.
	Verified bool   `json:"verified"`
	File     string `json:"file,omitempty"`
	// Commit is the hash of the commit that added or removed the exception.
	Commit string `json:"commit,omitempty"`
	// Detail is the message with the reason, Refusal.
	Detail  string `json:"-"`
	Refusal string `json:"-"`

	MessageDigest string          `json:"messageDigest,omitempty"`
	Policies      []ledger.Policy `json:"policies,omitempty"`
	Reason        string          `json:"reason,omitempty"`
	Ticket        string          `json:"ticket,omitempty"`
	Owner         string          `json:"owner,omitempty"`
	RequestedBy   string          `json:"requestedBy,omitempty"`
	ApprovedBy    string          `json:"approvedBy,omitempty"`
	PullRequest   string          `json:"pullRequest,omitempty"` // address
	SignedAt      time.Time       `json:"signedAt,omitzero"`
	ExpiresAt     time.Time       `json:"expiresAt,omitzero"`
	LogURL        string          `json:"-"`
	LogIndex      ledger.LogIndex `json:"-"`               // -1: none
	Run           string          `json:"run,omitempty"`   // address of the workflow run that signed
	Usage         *usage.Usage    `json:"usage,omitempty"` // of an unused one; nothing verifies it

	// Members are the events in a summary, all of its kind; see [Summarize].
	Members []Event `json:"-"`
}

// Changes returns the events of one commit: the exceptions that it added under signed/, and the
// expired exceptions that it removed. The ledger has to end at that commit. The first commit of a
// shallow clone adds nothing.
func Changes(l *ledger.Ledger) []Event {
	var events []Event
	for _, e := range l.Entries {
		switch {
		case e.Appeared != nil && !e.Appeared.Before && e.Appeared.Commit == l.Tip && e.Seal != nil:
			events = append(events, appeared(e))
		case e.Left != nil && e.Left.Commit == l.Tip && e.Left.How != ledger.Replaced &&
			e.Verified && !e.ExpiresAt.IsZero() && !e.ExpiresAt.After(l.At):
			event := of(Ended, e)
			event.Commit = e.Left.Commit
			events = append(events, event)
		}
	}
	return events
}

// appeared returns the event for an exception that a commit added. An exception that has expired
// meanwhile still counts as signed.
func appeared(e *ledger.Entry) Event {
	event := of(Signed, e)
	if !slices.Contains([]ledger.State{ledger.Open, ledger.NotYet, ledger.Expired}, e.State) {
		event.Verified = false
	}
	if !event.Verified {
		now := e.Seal.Now
		event = Event{Kind: Refused, Identity: e.Identity, File: e.File, LogIndex: -1,
			Refusal: now.Reason, Detail: now.Detail}
	}
	event.Commit = e.Appeared.Commit
	return event
}

// EndingWithin returns the exceptions that are valid at the ledger's time and expire within soon.
func EndingWithin(l *ledger.Ledger, soon time.Duration) []Event {
	var events []Event
	for _, e := range l.Entries {
		if e.Verified && e.State == ledger.Open && !e.ExpiresAt.IsZero() && !e.ExpiresAt.After(l.At.Add(soon)) {
			events = append(events, of(Ending, e))
		}
	}
	return events
}

// NotUsed returns the open exceptions that reports of clusters call idle or not needed.
func NotUsed(l *ledger.Ledger, reports *usage.Audit) []Event {
	var events []Event
	for _, e := range l.Entries {
		if !e.Verified || e.State != ledger.Open {
			continue
		}
		if u := reports.Unused(e.Identity, e.Seal.MessageDigest); u != nil {
			event := of(Unused, e)
			event.Usage = u
			events = append(events, event)
		}
	}
	return events
}

// of returns an event with the signed texts.
func of(kind Kind, e *ledger.Entry) Event {
	said := e.Said
	event := Event{Kind: kind, Identity: e.Identity, Verified: e.Verified, File: e.File, Policies: e.Policies,
		Reason: said.Reason, Ticket: said.Ticket, Owner: said.Owner, RequestedBy: said.RequestedBy,
		ApprovedBy: said.ApprovedBy, PullRequest: said.PullRequest, ExpiresAt: e.ExpiresAt, LogIndex: -1}
	if e.Seal == nil {
		return event
	}
	event.MessageDigest, event.SignedAt = e.Seal.MessageDigest, e.Seal.SignedAt
	for _, s := range e.Seal.Signatures {
		if event.LogIndex < 0 && s.LogIndex >= 0 {
			event.LogURL, event.LogIndex = s.LogURL, s.LogIndex
		}
		event.Run = cmp.Or(event.Run, s.Run)
	}
	return event
}

// ID identifies an event in all its notifications. It depends on the kind, the exception, the signed
// message and the reason of a rejection.
func (e Event) ID() string {
	if len(e.Members) > 0 {
		return e.subject()
	}
	sum := sha256.Sum256([]byte(string(e.Kind) + "\x00" + e.subject() + e.MessageDigest + e.Refusal))
	return hex.EncodeToString(sum[:16])
}

// subject identifies an exception in 32 characters, by its identity or, without one, by its file.
func (e Event) subject() string {
	if len(e.Members) > 0 {
		sum := sha256.New()
		for _, m := range e.Members {
			_, _ = io.WriteString(sum, m.ID())
		}
		return hex.EncodeToString(sum.Sum(nil)[:16])
	}
	id := e.Identity
	if id.Name == "" {
		id.Name, id.Kind = e.File, "file"
	}
	key := id.Key()
	return hex.EncodeToString(key[:])
}
