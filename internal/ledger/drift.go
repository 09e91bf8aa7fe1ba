package ledger

import (
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// Presence is what a cluster holds of an entry.
type Presence string

// What a comparison can find.
const (
	NotCompared Presence = ""
	Same        Presence = "same"    // what was signed
	Other       Presence = "other"   // something else under its name
	Missing     Presence = "missing" // nothing under its name
)

// Cluster is what a cluster holds.
type Cluster struct {
	Objects []*exception.Document
	// Unreadable says of each object that could not be read why.
	Unreadable []string
}

// Compare holds what a cluster has against what lies under signed/, and adds what
// differs to the findings. It verifies each object as of the time of the ledger.
func (l *Ledger) Compare(cluster Cluster, v *verify.Verifier, workers int) error {
	if len(cluster.Objects)+len(cluster.Unreadable) > MaxObjects {
		return tooMuch(MaxObjects, "objects of a cluster")
	}
	l.Compared, l.Objects = true, len(cluster.Objects)
	here := map[exception.IdentityKey]*Entry{}
	gone := map[exception.IdentityKey]*Entry{}
	pending := map[exception.IdentityKey]*Entry{}
	for _, e := range l.Entries {
		if e.State == Waiting || e.State == NeverSigned {
			pending[e.key.identity] = e
		}
		switch {
		case e.Appeared != nil && e.Left == nil:
			e.Cluster = Missing
			here[e.key.identity] = e
		case e.Appeared != nil:
			gone[e.key.identity] = e // the last of them
		}
	}
	for _, why := range cluster.Unreadable {
		l.Findings = append(l.Findings, Finding{Kind: UnreadableThere, Message: short(why)})
	}
	seals := assessAll(cluster.Objects, v, l.At, workers)
	for i, doc := range cluster.Objects {
		key := doc.Identity().Key()
		e := here[key]
		if e != nil {
			e.Cluster = Other
			if seals[i].MessageDigest != "" && e.Seal.MessageDigest == seals[i].MessageDigest && seals[i].Now == e.Seal.Now {
				e.Cluster = Same
			}
		}
		l.drift(doc, seals[i], e, gone[key], pending[key])
	}
	for _, e := range l.Entries {
		if e.Cluster == Missing && e.State == Open {
			l.Findings = append(l.Findings, Finding{Kind: NotInCluster, Object: e.Identity.String(), File: e.File,
				Message: "it is valid, and not in the cluster", Hint: "has it been deployed, and to this cluster?"})
		}
	}
	l.sortFindings()
	return nil
}

// drift says what is wrong with one object of the cluster; an object can be wrong in
// two ways.
func (l *Ledger) drift(doc *exception.Document, s *Seal, e, gone, pending *Entry) {
	say := func(kind Kind, message, hint string) {
		l.Findings = append(l.Findings, Finding{Kind: kind, Object: doc.Identity().String(), Message: message, Hint: hint})
	}
	switch s.Now.Reason {
	case "":
		if e != nil && e.Cluster != Same {
			say(OutdatedThere, "it is signed, and differs from the one in signed/", "deploy signed/; an older signed exception stays valid until it expires")
		}
	case verify.ReasonUnsigned:
		if pending != nil && gone == nil && (e == nil || e == pending) {
			say(InCluster, "it carries no signature; an exception of its name is not signed yet, in "+pending.File, "sign it with polex-sign --promote, and deploy signed/")
			return
		}
		say(InCluster, "it carries no signature", "find out who created it, and have polex-guard reject it")
	case verify.ReasonAltered:
		say(AlteredThere, s.Now.Detail, "deploy it again, and find out who changed it")
	case verify.ReasonExpired:
		say(ExpiredThere, s.Now.Detail, "delete it; polex-guard does that by itself")
	default:
		say(RefusedThere, s.Now.Detail+" ["+s.Now.Reason+"]", "polex-verify --explain says more")
	}
	switch {
	case e != nil:
	case gone != nil:
		say(NotInGit, fmt.Sprintf("it left signed/ at %s (by Git) in commit %s (%s), by %s", clock(gone.Left.At), gone.Left.Commit, gone.Left.How, gone.Left.By),
			"let the deployer of signed/ prune removed files")
	default:
		say(NotInGit, "signed/ does not hold it, and never did", "find out who made it")
	}
}

// assessAll verifies objects on several workers.
func assessAll(docs []*exception.Document, v *verify.Verifier, at time.Time, workers int) []*Seal {
	seals := make([]*Seal, len(docs))
	var all errgroup.Group
	all.SetLimit(max(workers, 1))
	for i, doc := range docs {
		all.Go(func() error {
			seals[i] = assess(v, doc, at, exception.StatementKeys{}).seal
			return nil
		})
	}
	_ = all.Wait() // none of them fails
	return seals
}
