package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// Kind is the stable name of a kind of finding.
type Kind string

// The kinds. Kinds that begin with "cluster-" are drift.
const (
	KindExpired     Kind = "expired"            // under signed/ and expired
	KindAltered     Kind = "altered"            // under signed/, and it differs from the signed content
	KindUnsigned    Kind = "unsigned"           // under signed/, without a signature
	KindUnverified  Kind = "unverified"         // under signed/, and its signature is invalid for another reason
	KindNeverSigned Kind = "never-signed"       // under signed/ since before the first signature, and not signed yet
	OnceUnverified  Kind = "once-unverified"    // was under signed/, and its signature was never valid
	KindReturned    Kind = "returned"           // a document that was removed from signed/ is there again
	NotARenewal     Kind = "not-a-renewal"      // signed as a renewal, and its predecessor does not match the reference
	RenewedOften    Kind = "renewed-often"      // under signed/, and renewed at least as often as the limit
	Duplicate       Kind = "duplicate-identity" // two documents under signed/ have one name
	Unreadable      Kind = "unreadable"         // a file that cannot be read
	Rewritten       Kind = "rewritten"          // the history does not contain the last commit of an earlier report
	OffTheLine      Kind = "off-the-line"       // under signed/ in merged commits, and never on the branch
	NotAtCommit     Kind = "not-at-commit"      // under signed/, and the commit of its run lacks it
	Rerun           Kind = "re-run"             // under signed/, and signed by a repeated run
	OddTrigger      Kind = "unexpected-trigger" // under signed/, and signed by a run of another event than a push
	DeletedRef      Kind = "deleted-ref"        // under signed/, and signed on a branch or tag that does not exist
	Cut             Kind = "shallow"            // the clone is shallow
	ClockSkew       Kind = "clock-skew"         // times that contradict each other
	NotInGit        Kind = "cluster-not-in-git"
	NotInCluster    Kind = "cluster-missing" // valid in Git, and not in the cluster
	InCluster       Kind = "cluster-unsigned"
	AlteredThere    Kind = "cluster-altered"  // differs from the signed exception
	ExpiredThere    Kind = "cluster-expired"  // in the cluster and expired
	RefusedThere    Kind = "cluster-refused"  // its signature is invalid for another reason
	OutdatedThere   Kind = "cluster-outdated" // signed, and differs from the one in Git
	UnreadableThere Kind = "cluster-unreadable"
)

// kinds lists every kind with its description, in the order of the report.
var kinds = []struct {
	kind Kind
	doc  string
}{
	{KindExpired, "it is expired, and still under signed/"},
	{KindAltered, "it is under signed/, and differs from the signed content"},
	{KindUnsigned, "it is under signed/ without a signature"},
	{KindUnverified, "it is under signed/, and its signature is invalid for another reason"},
	{KindNeverSigned, "it has been under signed/ since before the first signature, and is not signed yet"},
	{OnceUnverified, "it was under signed/, and its signature was never valid"},
	{KindReturned, "a document that was removed from signed/ is there again"},
	{NotARenewal, "it is signed as the renewal of an exception that was never under signed/ in that form"},
	{RenewedOften, "it is under signed/, and was renewed at least as often as --renewal-threshold"},
	{Duplicate, "two documents under signed/ have one name"},
	{Unreadable, "a file, or a part of it, cannot be read"},
	{Rewritten, "the history does not contain the last commit of an earlier report"},
	{OffTheLine, "it was under signed/ in commits that were merged, and never on the branch"},
	{NotAtCommit, "it is under signed/, and the commit of the run that signed it does not contain it"},
	{Rerun, "it is under signed/, and a run that was started again signed it"},
	{OddTrigger, "it is under signed/, and an event other than a push started the run that signed it"},
	{DeletedRef, "it is under signed/, and the branch or tag of the run that signed it does not exist"},
	{Cut, "the clone is shallow"},
	{ClockSkew, "times contradict each other"},
	{NotInGit, "it is in the cluster, and not in signed/"},
	{NotInCluster, "it is valid, and not in the cluster"},
	{InCluster, "it is in the cluster without a signature"},
	{AlteredThere, "the exception in the cluster differs from the signed one"},
	{ExpiredThere, "it is expired, and still in the cluster"},
	{RefusedThere, "it is in the cluster, and its signature is invalid"},
	{OutdatedThere, "the exception in the cluster is signed, and differs from the one in signed/"},
	{UnreadableThere, "an object of the cluster cannot be read"},
}

// Kinds returns all kinds.
func Kinds() []Kind {
	all := make([]Kind, len(kinds))
	for i, k := range kinds {
		all[i] = k.kind
	}
	return all
}

// Doc returns a description of one line, or "" for an unknown kind.
func (k Kind) Doc() string {
	for _, known := range kinds {
		if known.kind == k {
			return known.doc
		}
	}
	return ""
}

// IsDrift reports whether the finding is about the cluster.
func (k Kind) IsDrift() bool { return strings.HasPrefix(string(k), "cluster-") }

// IsUnverified reports whether the finding is about an invalid or missing signature under signed/.
func (k Kind) IsUnverified() bool {
	return slices.Contains([]Kind{KindAltered, KindUnsigned, KindUnverified, KindNeverSigned}, k)
}

// IsExpired reports whether the finding is about an expired exception in signed/ or in the cluster.
func (k Kind) IsExpired() bool { return k == KindExpired || k == ExpiredThere }

// Select returns the kinds of a name: "any", "drift", "expired", "unverified" or a single kind. It
// returns no kinds for an unknown name.
func Select(name string) []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool {
		meant := name == "any" || name == string(k) || name == "drift" && k.IsDrift() || name == "expired" && k.IsExpired() || name == "unverified" && k.IsUnverified()
		return !meant
	})
}

// Finding is a problem that needs attention. Message may quote untrusted text.
type Finding struct {
	Kind    Kind   `json:"kind"`
	Object  string `json:"object,omitempty"` // identity, if it is about one exception
	File    string `json:"file,omitempty"`
	Commit  string `json:"commit,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func (r *reading) find(f Finding) { r.ledger.Findings = append(r.ledger.Findings, f) }

func (l *Ledger) sortFindings() {
	rank := map[Kind]int{}
	for i, k := range kinds {
		rank[k.kind] = i
	}
	slices.SortStableFunc(l.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(rank[a.Kind], rank[b.Kind]), cmp.Compare(a.Object, b.Object), cmp.Compare(a.File, b.File), cmp.Compare(a.Commit, b.Commit))
	})
}

// settle sets the state of each entry and adds the findings about it.
func (r *reading) settle() {
	if r.ledger.Shallow {
		r.find(Finding{Kind: Cut, Commit: r.ledger.Root,
			Message: "the clone is shallow: requesters and times of older exceptions, older removals and rewritten history are not known",
			Hint:    "git fetch --unshallow; in a workflow, check out with fetch-depth: 0"})
	}
	r.findOurs()
	for _, e := range r.ledger.Entries {
		r.settleEntry(e)
	}
	r.ledger.order()
	r.ledger.sortFindings()
}

func (r *reading) settleEntry(e *Entry) {
	if e.State != "" {
		return // a request
	}
	e.State = stateOf(e)
	about := Finding{Object: e.Identity.String(), File: e.File, Commit: e.Appeared.Commit}
	say := func(kind Kind, message, hint string) {
		f := about
		f.Kind, f.Message, f.Hint = kind, message, hint
		r.find(f)
	}
	switch {
	case e.State == Expired:
		say(KindExpired, "it expired at "+clock(e.ExpiresAt)+", and is still there", "remove it with polex-prune; fix the violation, or request a new exception")
	case e.State == NeverSigned:
		say(KindNeverSigned, fmt.Sprintf("it is not signed yet; %s wrote it at %s (by Git)", e.Request.By, clock(e.Request.At)), "polex adopt moves it to the folder of pending exceptions")
	case e.State == Altered, e.State == Unsigned, e.State == Unverified:
		say(Kind(e.State), e.Seal.Now.Detail+" ["+e.Seal.Now.Reason+"]", "run polex-verify --explain on the file")
	case e.State == Removed && !e.early && !e.Verified && e.Seal.AtSigning.Reason != Unwitnessed:
		say(OnceUnverified, "it was there until "+clock(e.Left.At)+" (by Git), and never valid: "+e.Seal.AtSigning.Detail+" ["+e.Seal.AtSigning.Reason+"]", "")
	}
	if e.Returned && !e.early && e.State.Here() {
		say(KindReturned, "it was under signed/ before, was removed, and was added again unchanged", "find out if that was approved; list a forbidden one under revoked in the trust policy")
	}
	if r.Renewed > 0 && e.Verified && e.State.Here() && e.Number() >= r.Renewed {
		say(RenewedOften, fmt.Sprintf("it was renewed %s in a row%s", plain.Count(e.Number(), "time", "times"), e.Chain.since()), "nobody fixes the violation, or the policy does not fit: request a new exception")
	}
	if e.Verified && e.State.Here() {
		for _, s := range e.Seal.Signatures {
			r.settleRun(e, s, say)
		}
	}
	if e.Verified && !e.Seal.SignedAt.IsZero() && e.Request != nil && !e.Request.At.IsZero() && e.Request.At.After(e.Seal.SignedAt.Add(clockSkew)) {
		say(ClockSkew, fmt.Sprintf("it was requested at %s (by Git), after it was signed at %s", clock(e.Request.At), clock(e.Seal.SignedAt)), "the requester's clock is wrong; the signing time is proven by a log or a timestamp authority")
	}
}

func stateOf(e *Entry) State {
	switch {
	case e.Left != nil:
		return Removed
	case e.early:
		return NeverSigned
	case e.Seal.Now.Holds:
		return Open
	// The verifier checks everything except revocation before the expiry. Verified shows that the
	// exception was valid and not revoked earlier, so now it has only expired.
	case e.Seal.Now.Reason == verify.ReasonExpired && (e.Verified || e.Seal.AtSigning.Reason == Unwitnessed):
		return Expired
	case e.Seal.Now.Reason == verify.ReasonNotYetValid && e.Verified:
		return NotYet
	case e.Seal.Now.Reason == verify.ReasonAltered:
		return Altered
	case e.Seal.Now.Reason == verify.ReasonUnsigned:
		return Unsigned
	default:
		return Unverified
	}
}

// unread adds a finding for each file of the tip that cannot be read, and one with the number of
// unreadable files in older commits.
func (f *folding) unread() {
	there := map[string]source{}
	past := 0
	for _, s := range f.line {
		for _, c := range s.changes {
			if f.unreadable(there[c.Path]) != "" {
				past++
			}
			there[c.Path] = c.brings()
		}
	}
	for file, c := range there {
		if why := f.unreadable(c); why != "" {
			f.find(Finding{Kind: Unreadable, File: file, Message: why, Hint: "run polex-verify on the file; the report lists its other documents"})
		}
	}
	if past > 0 {
		f.find(Finding{Kind: Unreadable, Message: plain.Count(past, "file", "files") + " in older commits could not be read"})
	}
}

// unreadable returns the reason if a content, or a part of it, cannot be read, or "".
func (f *folding) unreadable(c source) string {
	if c.Hash.IsZero() {
		return ""
	}
	if !c.File {
		return "it is a link, a submodule or of an unknown mode, and only regular files are read"
	}
	b := f.blobs[c]
	if b.problem != "" {
		return short(b.problem)
	}
	for _, bad := range b.bad {
		return short(fmt.Sprintf("line %d: %s", bad.Position.Line, bad.Message))
	}
	return ""
}

// twice adds a finding for each identity that is under signed/ more than once.
func (f *folding) twice() {
	here := map[exception.IdentityKey][]*Entry{}
	for _, e := range f.ledger.Entries {
		if e.Appeared != nil && e.Left == nil {
			here[e.key.identity] = append(here[e.key.identity], e)
		}
	}
	for _, same := range here {
		if len(same) < 2 {
			continue
		}
		var files []string
		for _, e := range same {
			files = append(files, fmt.Sprintf("%q", e.File))
		}
		slices.Sort(files)
		f.find(Finding{Kind: Duplicate, Object: same[0].Identity.String(), File: same[0].File,
			Message: fmt.Sprintf("%d documents have this name, in %s", len(same), strings.Join(files[:min(len(files), 10)], ", ")),
			Hint:    "only one can be applied: keep the approved one"})
	}
}

// offTheLine adds a finding for each document that was under signed/ only in merged commits.
func (f *folding) offTheLine() {
	said := map[document]bool{}
	for _, s := range f.beside {
		for _, c := range s.changes {
			if !c.Signed || s.cut {
				continue
			}
			for _, d := range f.documentsOf(c.brings()) {
				if f.before[d.key] || said[d.key] {
					continue
				}
				said[d.key] = true
				f.find(Finding{Kind: OffTheLine, Object: d.identity.String(), File: c.Path, Commit: s.commit.Hash.String(),
					Message: "it was under the folder in a commit that was merged later, and never on the branch by its first parents",
					Hint:    "it existed only on a merged side branch, as an early form of a pull request may: look at the commit"})
			}
		}
	}
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return t.UTC().Format(time.RFC3339)
}
