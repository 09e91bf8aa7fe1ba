package ledger

import (
	"encoding/json"
	"time"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/usage"
	"github.com/polex-dev/polex/pkg/exception"
)

// State is the state of an exception at the time of the report.
type State string

// The states.
const (
	Waiting     State = "waiting"      // a request under unsigned/
	Dropped     State = "dropped"      // a request that was removed without being signed
	Open        State = "open"         // under signed/ and valid
	NotYet      State = "not-yet"      // under signed/, and its start is in the future
	Expired     State = "expired"      // under signed/ and expired
	Altered     State = "altered"      // under signed/, and it differs from the signed content
	Unsigned    State = "unsigned"     // under signed/, without a signature
	Unverified  State = "unverified"   // under signed/, and its signature is invalid for another reason
	NeverSigned State = "never-signed" // under signed/ since before the first signature, and not signed yet
	Removed     State = "removed"      // was under signed/, and is not any more
)

// States returns all states in the order of the report.
func States() []State {
	return []State{Altered, Unsigned, Unverified, NeverSigned, Expired, Open, NotYet, Waiting, Removed, Dropped}
}

// Here reports whether an exception of this state is in one of the folders.
func (s State) Here() bool { return s != Removed && s != Dropped }

// Entry is one approval of an exception. A second approval, a renewal or a change makes another
// entry of the same identity. docs/ledger.schema.json describes its JSON. Times are in UTC, to the
// second.
type Entry struct {
	Identity exception.Identity `json:"-"`
	// Version numbers the entries of an identity that were under signed/, from 1 in the order of
	// their appearance. It is 0 for an entry that was never there or never had a signature.
	Version int   `json:"version"`
	State   State `json:"state"`
	// File is the path in the tree, the last one if the file was removed.
	File string `json:"file"`

	// Verified reports whether the signature is valid now or was valid at the signing time. Then
	// the fields up to ExpiresAt come from the signed message. Otherwise they come from the file,
	// and nothing proves them.
	Verified  bool       `json:"verified"`
	Exempted  []Exempted `json:"exempted"`
	Policies  []Policy   `json:"policies"`
	Said      Said       `json:"said"`
	StartsAt  time.Time  `json:"startsAt,omitzero"`  // zero if it is valid from the signing on
	ExpiresAt time.Time  `json:"expiresAt,omitzero"` // zero if it never expires

	Seal    *Seal    `json:"signing,omitempty"`      // nil if it was never under signed/
	Request *Request `json:"requestByGit,omitempty"` // nil if there was no request under unsigned/
	// Appeared is the step that added it to signed/, or nil.
	Appeared *Appearance `json:"appearedByGit,omitempty"`
	Left     *Departure  `json:"leftByGit,omitempty"` // nil while it is there
	// Returned reports whether the same document had left signed/ before.
	Returned bool `json:"returned,omitempty"`

	// Cluster is the result of the comparison with a cluster, or [NotCompared].
	Cluster Presence `json:"inCluster,omitempty"`

	// Usage says whether it is needed in that cluster. It is nil if the cluster does not have it, or if no
	// reports were read.
	Usage *usage.Usage `json:"usage,omitempty"`

	// Renews is the signed reference to the predecessor. It is nil if the entry renews nothing or
	// is not verified. RenewedBy are the entries that renew this one. Chain is the chain of
	// renewals that contains the entry, or nil.
	Renews    *Renewal `json:"-"`
	RenewedBy []*Entry `json:"-"`
	Chain     *Chain   `json:"chain,omitempty"`

	key document
	// renewal is the reference of the document to a predecessor.
	renewal exception.Renewal
	// early reports whether it was under signed/ without a signature before the first signature.
	early bool
	// badRenewal is the reason if the signed reference to a predecessor is invalid.
	badRenewal string
	// unknown are the annotations of polex that it does not read.
	unknown []manifest.UnknownKey
}

// Policy is a policy that the exception names.
type Policy struct {
	Kind  string   `json:"kind,omitempty"` // "" for kyverno.io
	Name  string   `json:"name"`
	Rules []string `json:"rules,omitempty"`
	// Severity is "" before [Ledger.Weigh].
	Severity string `json:"severity,omitempty"`
}

// String returns the name, after the kind and a slash if there is a kind.
func (p Policy) String() string {
	if p.Kind == "" {
		return p.Name
	}
	return p.Kind + "/" + p.Name
}

// Said holds the statements of an exception and the review record that was added at the signing.
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

// Seal is the result of verifying the signature of a document.
type Seal struct {
	// Now is the verdict for the time of the report. AtSigning is the verdict for the signing time,
	// or for the start of the exception if that is later.
	Now           Verdict `json:"verdict"`
	AtSigning     Verdict `json:"verdictAtSigning"`
	MessageDigest string  `json:"messageDigest,omitempty"` // "" if no signature is valid
	// SignedAt is the earliest signing time, or zero if no trusted source proves one.
	SignedAt   time.Time   `json:"signedAt,omitzero"`
	Signatures []Signature `json:"signatures"` // the valid ones
}

// Signatures returns the valid signatures of an entry.
func (e *Entry) Signatures() []Signature {
	if e.Seal == nil {
		return nil
	}
	return e.Seal.Signatures
}

// Verdict is the result of the verifier for one time.
type Verdict struct {
	Holds bool `json:"holds"`
	// Reason is a reason of package verify, [Unwitnessed] or [Undecided], or "" if Holds is true.
	Reason string `json:"reason,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// The reasons of a [Verdict] that package verify does not have.
const (
	Unwitnessed = "unwitnessed" // no signing time is proven
	Undecided   = "undecided"
)

// Signature is a verified signature. A field is empty if the certificate does not have it.
type Signature struct {
	Authority    string    `json:"authority"`        // of the trust policy; "" if the signer is not in the trust policy
	Subject      string    `json:"signer,omitempty"` // "" for a key
	Issuer       string    `json:"issuer,omitempty"`
	Run          string    `json:"run,omitempty"` // URL of the workflow run
	Trigger      string    `json:"trigger,omitempty"`
	Source       string    `json:"repository,omitempty"` // repository of the workflow run
	Ref          string    `json:"ref,omitempty"`
	Commit       string    `json:"commit,omitempty"` // commit of the workflow run
	Runner       string    `json:"runner,omitempty"`
	Caller       string    `json:"caller,omitempty"`       // workflow that called the signer, a reusable workflow
	Environment  string    `json:"environment,omitempty"`  // deployment environment of the job
	TokenSubject string    `json:"tokenSubject,omitempty"` // sub of the OIDC token
	WitnessedAt  time.Time `json:"witnessedAt,omitzero"`   // signing time, or zero
	LogURL       string    `json:"log,omitempty"`
	LogIndex     LogIndex  `json:"logIndex,omitzero"`
}

// LogIndex is the index of a transparency log entry, or -1.
type LogIndex int64

// IsZero reports whether there is no entry. The first entry of a log has the index 0.
func (i LogIndex) IsZero() bool { return i < 0 }

// Event is a commit with the name and time in it. The committer chose both, and nothing verifies
// them.
type Event struct {
	Commit string    `json:"commit"`
	By     string    `json:"by"` // name <address>
	At     time.Time `json:"at,omitzero"`
}

// Appearance is the step that added an exception to signed/.
type Appearance struct {
	Event
	// Before reports whether it was already there in the first known commit.
	Before bool `json:"beforeHistory,omitempty"`
}

// Request is the first commit that requested an exception.
type Request struct {
	Event
	File string `json:"file"`
	// Merged is the step that merged that commit into the branch, or nil if it is the same commit.
	Merged *Event `json:"merged,omitempty"`
	// Before reports whether it was already there in the first known commit.
	Before bool `json:"beforeHistory,omitempty"`
	// Moves are the moves of the request between files, oldest first.
	Moves []Move `json:"moves,omitempty"`
}

// Move is a commit that moved an exception to another file.
type Move struct {
	Event
	From string `json:"from"`
}

// Departure is the step that removed an exception from signed/.
type Departure struct {
	Event
	How How `json:"how"`
}

// How is the way in which an exception left.
type How string

// The ways to leave.
const (
	Replaced  How = "replaced"  // the same step added another one of this name
	Pruned    How = "pruned"    // the commit message names it as expired
	Withdrawn How = "withdrawn" // removed for another or an unknown reason
)

// approval is a reference to another entry.
type approval struct {
	Object  string `json:"object"`
	Version int    `json:"version"`
}

func approvalOf(e *Entry) *approval {
	if e == nil {
		return nil
	}
	return &approval{e.Identity.String(), e.Version}
}

// MarshalJSON writes the entry with its identity, and references instead of other entries.
func (e *Entry) MarshalJSON() ([]byte, error) {
	type entry Entry // without this method
	type renewal struct {
		Object string    `json:"object"`
		Digest string    `json:"messageDigest"`
		Number int       `json:"number"`
		Of     *approval `json:"of,omitempty"`
	}
	id := e.Identity
	out := struct {
		Object    string `json:"object"`
		Group     string `json:"group"`
		Kind      string `json:"kind"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		*entry
		Renews    *renewal    `json:"renews,omitempty"`
		RenewedBy []*approval `json:"renewedBy,omitempty"`
	}{Object: id.String(), Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name, entry: (*entry)(e)}
	if e.Renews != nil {
		out.Renews = &renewal{e.Predecessor().String(), e.Renews.Digest, e.Renews.Number, approvalOf(e.Renews.Of)}
	}
	for _, successor := range e.RenewedBy {
		out.RenewedBy = append(out.RenewedBy, approvalOf(successor))
	}
	return json.Marshal(out)
}

// MarshalJSON writes the chain with references to its first and last entry, and its length in
// seconds.
func (c *Chain) MarshalJSON() ([]byte, error) {
	type chain Chain // without this method
	out := struct {
		First *approval `json:"first"`
		Last  *approval `json:"last"`
		*chain
		Seconds *int64 `json:"seconds,omitempty"`
	}{First: approvalOf(c.First()), Last: approvalOf(c.Last()), chain: (*chain)(c)}
	if length, known := c.Length(); known {
		seconds := int64(length / time.Second)
		out.Seconds = &seconds
	}
	return json.Marshal(out)
}

// inUTC converts a time to UTC and whole seconds. It returns zero for a year that RFC 3339 cannot
// write.
func inUTC(t time.Time) time.Time {
	if t = t.UTC().Truncate(time.Second); t.Year() > 9999 || t.Year() < 0 {
		return time.Time{}
	}
	return t
}
