package ledger

import (
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// State is what has become of an exception at the time of the ledger.
type State string

// The states.
const (
	Waiting     State = "waiting"      // asked for under unsigned/
	Dropped     State = "dropped"      // asked for, and taken back without being signed
	Open        State = "open"         // under signed/, and it counts
	NotYet      State = "not-yet"      // under signed/, and its start has not come
	Expired     State = "expired"      // under signed/ still, and its end has come
	Altered     State = "altered"      // under signed/, and it differs from the signed content
	Unsigned    State = "unsigned"     // under signed/, without a signature
	Unverified  State = "unverified"   // under signed/, and its signature is invalid for another reason
	NeverSigned State = "never-signed" // under signed/ since before the first signature, and not signed yet
	Removed     State = "removed"      // it was under signed/
)

// States returns all of them, in the order in which they are listed.
func States() []State {
	return []State{Altered, Unsigned, Unverified, NeverSigned, Expired, Open, NotYet, Waiting, Removed, Dropped}
}

// Here reports whether an exception of this state lies in one of the folders.
func (s State) Here() bool { return s != Removed && s != Dropped }

// Entry is one exception as it was once approved. What is approved again, renewed
// or changed, is another entry of the same identity. Its JSON, and that of all that it
// holds, is what docs/ledger.schema.json describes. Times are in UTC, to the second.
type Entry struct {
	Identity exception.Identity `json:"-"`
	// Version counts the entries of one identity that were under signed/, from 1 in
	// the order of their appearance. It is 0 for what never was, or never had a signature.
	Version int   `json:"version"`
	State   State `json:"state"`
	// File is where it lies, or lay last, in the tree.
	File string `json:"file"`

	// Verified says that the seal held, now or when it was signed. Only then is what
	// follows, up to ExpiresAt, from what was signed; otherwise it is what the file
	// says, and nobody vouches for it.
	Verified  bool       `json:"verified"`
	Exempted  []Exempted `json:"exempted"`
	Policies  []Policy   `json:"policies"`
	Said      Said       `json:"said"`
	StartsAt  time.Time  `json:"startsAt,omitzero"`  // zero for always
	ExpiresAt time.Time  `json:"expiresAt,omitzero"` // zero for never

	Seal    *Seal    `json:"signing,omitempty"`      // nil for what never was under signed/
	Request *Request `json:"requestByGit,omitempty"` // nil where nothing under unsigned/ came before it
	// Appeared is the step that brought it to signed/, nil for what never was there.
	Appeared *Appearance `json:"appearedByGit,omitempty"`
	Left     *Departure  `json:"leftByGit,omitempty"` // nil while it is there
	// Returned says that this very document had left before.
	Returned bool `json:"returned,omitempty"`

	// Cluster is what a comparison found of it, [NotCompared] before one.
	Cluster Presence `json:"inCluster,omitempty"`

	// Renews is what was signed of the exception that this one takes up after: nil for
	// one that renews nothing, and for one of which nothing is believed. RenewedBy are
	// the entries that renew it, and Chain is what all of them make: nil for an entry
	// that neither renews another nor is renewed.
	Renews    *Renewal `json:"-"`
	RenewedBy []*Entry `json:"-"`
	Chain     *Chain   `json:"chain,omitempty"`

	key document
	// early says that it was under signed/ without a seal before anything there had one.
	early bool
	// badRenewal says why what was signed of a predecessor cannot be read.
	badRenewal string
}

// Policy is a policy that an exception is from.
type Policy struct {
	Kind  string   `json:"kind,omitempty"` // "" for kyverno.io
	Name  string   `json:"name"`
	Rules []string `json:"rules,omitempty"`
	// Severity is "" before [Ledger.Weigh].
	Severity string `json:"severity,omitempty"`
}

// String returns the name, with the kind before it where there is one.
func (p Policy) String() string {
	if p.Kind == "" {
		return p.Name
	}
	return p.Kind + "/" + p.Name
}

// Said is what people say in an exception, and what was recorded when it was
// signed.
type Said struct {
	Reason       string `json:"reason,omitempty"`
	Ticket       string `json:"ticket,omitempty"`
	Owner        string `json:"owner,omitempty"`
	Category     string `json:"category,omitempty"`
	RequestedBy  string `json:"requestedBy,omitempty"`
	ApprovedBy   string `json:"approvedBy,omitempty"`
	PullRequest  string `json:"pullRequest,omitempty"`
	MergeCommit  string `json:"mergeCommit,omitempty"`
	RecordedFrom string `json:"recordedFrom,omitempty"`
}

// Seal is what verifying a document's seal said.
type Seal struct {
	// Now is the verdict as of the time of the ledger, and AtSigning as of the
	// witnessed time, or of the start where that is later.
	Now           Verdict `json:"verdict"`
	AtSigning     Verdict `json:"verdictAtSigning"`
	MessageDigest string  `json:"messageDigest,omitempty"` // "" where no signature holds
	// SignedAt is the earliest witnessed time; zero where nobody witnessed one.
	SignedAt   time.Time   `json:"signedAt,omitzero"`
	Signatures []Signature `json:"signatures"` // those that hold
}

// Verdict is a verifier's answer.
type Verdict struct {
	Holds bool `json:"holds"`
	// Reason is one of verify's where it does not, [Unwitnessed] or [Undecided].
	Reason string `json:"reason,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Reasons of a [Verdict] that are not verify's.
const (
	Unwitnessed = "unwitnessed" // nobody says when it was signed
	Undecided   = "undecided"
)

// Signature is one that was verified. What it leaves out, the certificate does not
// say.
type Signature struct {
	Authority   string    `json:"authority"`        // of the trust policy; "" where it counts for none
	Subject     string    `json:"signer,omitempty"` // "" for a key
	Issuer      string    `json:"issuer,omitempty"`
	Run         string    `json:"run,omitempty"` // address of the workflow's run
	Trigger     string    `json:"trigger,omitempty"`
	Source      string    `json:"repository,omitempty"` // that the workflow ran for
	Ref         string    `json:"ref,omitempty"`
	Commit      string    `json:"commit,omitempty"` // that the workflow ran at
	Runner      string    `json:"runner,omitempty"`
	WitnessedAt time.Time `json:"witnessedAt,omitzero"` // zero where there is none
	LogURL      string    `json:"log,omitempty"`
	LogIndex    LogIndex  `json:"logIndex,omitzero"`
}

// LogIndex is the number of a transparency log entry; -1 where there is none.
type LogIndex int64

// IsZero reports whether there is no entry: the first one of a log has the number 0.
func (i LogIndex) IsZero() bool { return i < 0 }

// Event is a commit, by what Git says of it: whoever made the commit wrote it
// there, and nothing verifies it.
type Event struct {
	Commit string    `json:"commit"`
	By     string    `json:"by"` // name <address>
	At     time.Time `json:"at,omitzero"`
}

// Appearance is how an exception came to signed/.
type Appearance struct {
	Event
	// Before says that it was there already where the history begins.
	Before bool `json:"beforeHistory,omitempty"`
}

// Request is the first commit that asked for an exception.
type Request struct {
	Event
	File string `json:"file"`
	// Merged is the step that brought it to the branch, where that is another one.
	Merged *Event `json:"merged,omitempty"`
	// Before says that it was there already where the history begins.
	Before bool `json:"beforeHistory,omitempty"`
	// Moves are how it came from File to where it waits, the oldest first.
	Moves []Move `json:"moves,omitempty"`
}

// Move is a commit that moved an exception to another file.
type Move struct {
	Event
	From string `json:"from"`
}

// Departure is how an exception left signed/.
type Departure struct {
	Event
	How How `json:"how"`
}

// How an exception left.
type How string

// The ways to leave.
const (
	Replaced  How = "replaced"  // by another of the same name, in the same step
	Pruned    How = "pruned"    // the commit says that it had expired
	Withdrawn How = "withdrawn" // nothing says why
)
