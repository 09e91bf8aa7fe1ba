package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/internal/usage"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// Kind is the stable name of a kind of finding.
type Kind string

// The kinds, which [Kind.Doc] describes. Kinds that begin with "cluster-" are drift.
const (
	KindExpired       Kind = "expired"
	KindAltered       Kind = "altered"
	KindUnsigned      Kind = "unsigned"
	KindUnverified    Kind = "unverified"
	KindNeverSigned   Kind = "never-signed"
	OnceUnverified    Kind = "once-unverified"
	KindReturned      Kind = "returned"
	NotARenewal       Kind = "not-a-renewal"
	RenewedOften      Kind = "renewed-often"
	Duplicate         Kind = "duplicate-identity"
	UnknownAnnotation Kind = "unknown-annotation"
	Unreadable        Kind = "unreadable"
	Rewritten         Kind = "rewritten"
	OffTheLine        Kind = "off-the-line"
	NotAtCommit       Kind = "not-at-commit"
	Rerun             Kind = "re-run"
	OddTrigger        Kind = "unexpected-trigger"
	DeletedRef        Kind = "deleted-ref"
	Cut               Kind = "shallow"
	ClockSkew         Kind = "clock-skew"
	ClusterNotInGit   Kind = "cluster-not-in-git"
	ClusterMissing    Kind = "cluster-missing"
	ClusterUnsigned   Kind = "cluster-unsigned"
	ClusterAltered    Kind = "cluster-altered"
	ClusterExpired    Kind = "cluster-expired"
	ClusterRefused    Kind = "cluster-refused"
	ClusterOutdated   Kind = "cluster-outdated"
	ClusterUnreadable Kind = "cluster-unreadable"
	KindIdle          Kind = Kind(usage.Idle)
	KindNotNeeded     Kind = Kind(usage.NotNeeded)
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
	{UnknownAnnotation, "it is under signed/, and polex ignores one of its annotations"},
	{Unreadable, "a file, or a part of it, cannot be read"},
	{Rewritten, "the history does not contain the last commit of an earlier report"},
	{OffTheLine, "it was under signed/ in commits that were merged, and never on the branch"},
	{NotAtCommit, "it is under signed/, and the commit of the run that signed it does not contain it"},
	{Rerun, "it is under signed/, and a run that was started again signed it"},
	{OddTrigger, "it is under signed/, and an event other than a push started the run that signed it"},
	{DeletedRef, "it is under signed/, and the branch or tag of the run that signed it does not exist"},
	{Cut, "the clone is shallow"},
	{ClockSkew, "times contradict each other"},
	{ClusterNotInGit, "it is in the cluster, and not in signed/"},
	{ClusterMissing, "it is valid, and not in the cluster"},
	{ClusterUnsigned, "it is in the cluster without a signature"},
	{ClusterAltered, "the exception in the cluster differs from the signed one"},
	{ClusterExpired, "it is expired, and still in the cluster"},
	{ClusterRefused, "it is in the cluster, and its signature is invalid"},
	{ClusterOutdated, "the exception in the cluster is signed, and differs from the one in signed/"},
	{ClusterUnreadable, "an object of the cluster cannot be read"},
	{KindIdle, "it is in the cluster, its policies report on resources of its kinds, and it exempts none"},
	{KindNotNeeded, "it is in the cluster, and the resources that it exempts would pass without it"},
}

// Kinds returns all kinds.
func Kinds() []Kind {
	var all []Kind
	for _, k := range kinds {
		all = append(all, k.kind)
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

// IsDrift reports whether the finding is about a difference between the cluster and Git.
func (k Kind) IsDrift() bool { return strings.HasPrefix(string(k), "cluster-") }

// IsUsage reports whether the finding is about an exception that is not needed.
func (k Kind) IsUsage() bool { return usage.State(k).Unused() }

// isNamed reports whether a name for [Select] stands for the kind.
func (k Kind) isNamed(name string) bool {
	switch name {
	case "any", string(k):
		return true
	case "drift":
		return k.IsDrift()
	case "expired":
		return k == KindExpired || k == ClusterExpired
	case "unverified":
		return slices.Contains([]Kind{KindAltered, KindUnsigned, KindUnverified, KindNeverSigned}, k)
	}
	return false
}

// Select returns the kinds of a name: "any", "drift", "expired", "unverified" or a single kind. It
// returns no kinds for an unknown name.
func Select(name string) []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool { return !k.isNamed(name) })
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

// findOf adds a finding about an entry that was under signed/.
func (r *reading) findOf(e *Entry, kind Kind, hint, message string, args ...any) {
	r.find(Finding{Kind: kind, Object: e.Identity.String(), File: e.File, Commit: e.Appeared.Commit,
		Message: fmt.Sprintf(message, args...), Hint: hint})
}

func (l *Ledger) sortFindings() {
	all := Kinds()
	slices.SortStableFunc(l.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(all, a.Kind), slices.Index(all, b.Kind)),
			cmp.Compare(a.Object, b.Object), cmp.Compare(a.File, b.File), cmp.Compare(a.Commit, b.Commit))
	})
}

// check sets the state of each entry and adds the findings about it.
func (r *reading) check() {
	if r.ledger.Shallow {
		r.find(Finding{Kind: Cut, Commit: r.ledger.Root,
			Message: "the clone is shallow: requesters and times of older exceptions, older removals and " +
				"rewritten history are not known",
			Hint: "git fetch --unshallow; in a workflow, check out with fetch-depth: 0"})
	}
	r.findOurs()
	for _, e := range r.ledger.Entries {
		if e.State != "" {
			continue // a request
		}
		e.State = stateOf(e)
		r.checkState(e)
		if e.State.Here() {
			r.checkHere(e)
		}
		signedAt := e.Seal.SignedAt
		if e.Verified && !signedAt.IsZero() && e.Request != nil && e.Request.At.After(signedAt.Add(clockSkew)) {
			r.findOf(e, ClockSkew,
				"the requester's clock is wrong; the signing time is proven by a log or a timestamp authority",
				"it was requested at %s (by Git), after it was signed at %s", clock(e.Request.At), clock(signedAt))
		}
	}
	r.ledger.order()
	r.ledger.sortFindings()
}

// checkState adds a finding about a state that needs attention.
func (r *reading) checkState(e *Entry) {
	switch e.State {
	case Expired:
		r.findOf(e, KindExpired, "remove it with polex-prune; fix the violation, or request a new exception",
			"it expired at %s, and is still there", clock(e.ExpiresAt))
	case NeverSigned:
		r.findOf(e, KindNeverSigned, "polex adopt moves it to the folder of pending exceptions",
			"it is not signed yet; %s wrote it at %s (by Git)", e.Request.By, clock(e.Request.At))
	case Altered, Unsigned, Unverified:
		now := e.Seal.Now
		r.findOf(e, Kind(e.State), "run polex-verify --explain on the file", "%s [%s]", now.Detail, now.Reason)
	case Removed:
		if then := e.Seal.AtSigning; !e.early && !e.Verified && then.Reason != Unwitnessed {
			r.findOf(e, OnceUnverified, "", "it was there until %s (by Git), and never valid: %s [%s]",
				clock(e.Left.At), then.Detail, then.Reason)
		}
	}
}

// checkHere adds the findings about the past and the signatures of an entry in signed/.
func (r *reading) checkHere(e *Entry) {
	if e.Returned && !e.early {
		r.findOf(e, KindReturned,
			"find out if that was approved; list a forbidden one under revoked in the trust policy",
			"it was under signed/ before, was removed, and was added again unchanged")
	}
	if !e.Verified {
		return
	}
	if r.Renewed > 0 && e.Number() >= r.Renewed {
		r.findOf(e, RenewedOften, "nobody fixes the violation, or the policy does not fit: request a new exception",
			"it was renewed %s in a row%s", plain.Count(e.Number(), "time", "times"), e.Chain.since())
	}
	for _, key := range e.unknown {
		r.findOf(e, UnknownAnnotation, key.Hint, "%s", key.Message)
	}
	for _, s := range e.Seal.Signatures {
		r.checkRun(e, s)
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
	current := map[string]content{}
	past := 0
	for _, s := range f.line {
		for _, c := range s.changes {
			if f.unreadable(current[c.Path]) != "" {
				past++
			}
			current[c.Path] = c.New
		}
	}
	for file, c := range current {
		if why := f.unreadable(c); why != "" {
			f.find(Finding{Kind: Unreadable, File: file, Message: why,
				Hint: "run polex-verify on the file; the report lists its other documents"})
		}
	}
	if past > 0 {
		message := plain.Count(past, "file", "files") + " in older commits could not be read"
		f.find(Finding{Kind: Unreadable, Message: message})
	}
}

// unreadable returns the reason if a content, or a part of it, cannot be read, or "".
func (f *folding) unreadable(c content) string {
	b := f.blobs[c]
	switch {
	case c.Hash.IsZero():
		return ""
	case !c.File:
		return "it is a link, a submodule or of an unknown mode, and only regular files are read"
	case b.problem == "" && len(b.bad) > 0:
		return short(fmt.Sprintf("line %d: %s", b.bad[0].Position.Line, b.bad[0].Message))
	}
	return short(b.problem)
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
			files = append(files, strconv.Quote(e.File))
		}
		slices.Sort(files)
		listed := strings.Join(files[:min(len(files), 10)], ", ")
		message := fmt.Sprintf("%d documents have this name, in %s", len(same), listed)
		f.find(Finding{Kind: Duplicate, Object: same[0].Identity.String(), File: same[0].File, Message: message,
			Hint: "only one can be applied: keep the approved one"})
	}
}

// offTheLine adds a finding for each document that was under signed/ only in merged commits.
func (f *folding) offTheLine() {
	for _, s := range f.beside {
		for _, c := range s.changes {
			if !c.New.Signed || s.cut {
				continue
			}
			for _, d := range f.documentsOf(c.New) {
				if f.before[d.key] {
					continue
				}
				f.before[d.key] = true // one finding for each document
				f.find(Finding{
					Kind: OffTheLine, Object: d.Identity.String(), File: c.Path, Commit: s.commit.Hash.String(),
					Message: "it was under the folder in a commit that was merged later, and never on the branch by " +
						"its first parents",
					Hint: "it existed only on a merged side branch, as an early form of a pull request may: " +
						"look at the commit",
				})
			}
		}
	}
}

func clock(t time.Time) string { return cmp.Or(plain.Time(t), "an unknown time") }
