package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/pkg/exception"
)

// Kind is what happened.
type Kind string

// The kinds.
const (
	Signed  Kind = "signed"
	Refused Kind = "refused"
	Ending  Kind = "ending" // it ends soon
	Ended   Kind = "ended"
)

// Event is something that people are told about one exception. Its texts are
// untrusted: the renderers make them inert.
type Event struct {
	Kind     Kind
	Identity exception.Identity
	// Verified says that what follows, up to Commit, is what was signed, and that the
	// signature holds or held. Where it is false, those fields are empty.
	Verified                bool
	MessageDigest           string
	Policies                []ledger.Policy
	Reason, Ticket, Owner   string
	RequestedBy, ApprovedBy string
	PullRequest             string // address
	SignedAt, ExpiresAt     time.Time
	LogURL                  string
	LogIndex                int64  // -1 where there is none
	Run                     string // address of the workflow run that signed

	// Commit is the one that brought it or took it away; Git's word for it.
	Commit string
	// Refusal is the reason, and Detail what was said with it.
	Refusal, Detail string
	File            string

	// Members are the events that this one sums up, all of its kind; see [Summarize].
	Members []Event
}

// Changes are the events of one commit: what it has put under signed/, and what had
// ended and left with it. The ledger has to end at that commit. What was there where a
// cut-off history begins is no change.
func Changes(l *ledger.Ledger) []Event {
	var events []Event
	for _, e := range l.Entries {
		switch {
		case e.Appeared != nil && !e.Appeared.Before && e.Appeared.Commit == l.Tip && e.Seal != nil:
			events = append(events, appeared(e))
		case e.Left != nil && e.Left.Commit == l.Tip && e.Left.How != ledger.Replaced && ended(e, l.At):
			event := of(Ended, e)
			event.Commit = e.Left.Commit
			events = append(events, event)
		}
	}
	return events
}

// appeared is what to say of an exception that a commit brought. One that has ended
// since was signed all the same.
func appeared(e *ledger.Entry) Event {
	event := Event{Kind: Refused, Identity: e.Identity, LogIndex: -1, File: e.File, Refusal: e.Seal.Now.Reason, Detail: e.Seal.Now.Detail}
	if e.Verified && slices.Contains([]ledger.State{ledger.Open, ledger.NotYet, ledger.Expired}, e.State) {
		event = of(Signed, e)
	}
	event.Commit = e.Appeared.Commit
	return event
}

func ended(e *ledger.Entry, at time.Time) bool {
	return e.Verified && !e.ExpiresAt.IsZero() && !e.ExpiresAt.After(at)
}

// EndingWithin are the exceptions that count at the ledger's time, and no more when
// so much time has passed.
func EndingWithin(l *ledger.Ledger, soon time.Duration) []Event {
	var events []Event
	for _, e := range l.Entries {
		if e.Verified && e.State == ledger.Open && !e.ExpiresAt.IsZero() && !e.ExpiresAt.After(l.At.Add(soon)) {
			events = append(events, of(Ending, e))
		}
	}
	return events
}

// of says what was signed.
func of(kind Kind, e *ledger.Entry) Event {
	event := Event{Kind: kind, Identity: e.Identity, Verified: true, Policies: e.Policies,
		Reason: e.Said.Reason, Ticket: e.Said.Ticket, Owner: e.Said.Owner, RequestedBy: e.Said.RequestedBy, ApprovedBy: e.Said.ApprovedBy,
		PullRequest: e.Said.PullRequest, ExpiresAt: e.ExpiresAt, LogIndex: -1, File: e.File}
	if e.Seal == nil {
		return event
	}
	event.MessageDigest, event.SignedAt = e.Seal.MessageDigest, e.Seal.SignedAt
	for _, s := range e.Seal.Signatures {
		if event.LogIndex < 0 && s.LogIndex >= 0 {
			event.LogURL, event.LogIndex = s.LogURL, int64(s.LogIndex)
		}
		if event.Run == "" {
			event.Run = s.Run
		}
	}
	return event
}

// ID is the same for the same event, however often it is told: the kind, the
// exception, what was signed and why it was refused decide it.
func (e Event) ID() string {
	if len(e.Members) > 0 {
		return e.subject()
	}
	sum := sha256.Sum256([]byte(string(e.Kind) + "\x00" + e.subject() + e.MessageDigest + e.Refusal))
	return hex.EncodeToString(sum[:16])
}

// subject tells exceptions apart, in 32 characters: by identity, or by file where
// there is none.
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
