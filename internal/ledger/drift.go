package ledger

import (
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// Presence is the result of comparing an entry with the cluster.
type Presence string

// The results of a comparison.
const (
	NotCompared Presence = ""
	Same        Presence = "same"    // the signed exception
	Other       Presence = "other"   // a different object of the same name
	Missing     Presence = "missing" // no object of this name
)

// Cluster holds the exceptions of a cluster.
type Cluster struct {
	Objects []*exception.Document
	// Unreadable has the reason for each object that could not be read.
	Unreadable []string
}

// Compare compares the exceptions of a cluster with those under signed/ and adds the differences to
// the findings. It verifies each object for the time of the report.
func (l *Ledger) Compare(cluster Cluster, v *verify.Verifier, workers int) error {
	if len(cluster.Objects)+len(cluster.Unreadable) > MaxObjects {
		return tooMuch(MaxObjects, "objects of a cluster")
	}
	l.Compared, l.Objects = true, len(cluster.Objects)
	here, gone, pending := byIdentity{}, byIdentity{}, byIdentity{}
	for _, e := range l.Entries {
		if e.State == Waiting || e.State == NeverSigned {
			pending[e.key.identity] = e
		}
		switch {
		case e.Appeared != nil && e.Left == nil:
			e.Cluster = Missing
			here[e.key.identity] = e
		case e.Appeared != nil:
			gone[e.key.identity] = e // the latest one
		}
	}
	for _, why := range cluster.Unreadable {
		l.Findings = append(l.Findings, Finding{Kind: ClusterUnreadable, Message: short(why)})
	}
	entries := assessAll(cluster.Objects, v, l.At, workers)
	for i, doc := range cluster.Objects {
		key, s := doc.Identity().Key(), entries[i].Seal
		e := here[key]
		l.live = append(l.live, liveOf(doc, entries[i], e))
		if e != nil {
			e.Cluster = Other
			if s.MessageDigest != "" && e.Seal.MessageDigest == s.MessageDigest && s.Now == e.Seal.Now {
				e.Cluster = Same
			}
		}
		l.drift(doc, s, e, gone[key], pending[key])
	}
	for _, e := range l.Entries {
		if e.Cluster == Missing && e.State == Open {
			l.Findings = append(l.Findings, Finding{Kind: ClusterMissing, Object: e.Identity.String(), File: e.File,
				Message: "it is valid, and not in the cluster", Hint: "has it been deployed, and to this cluster?"})
		}
	}
	l.sortFindings()
	return nil
}

type byIdentity = map[exception.IdentityKey]*Entry

// drift adds the findings about one object of the cluster. There can be two: one about its
// signature and one about its presence in Git.
func (l *Ledger) drift(doc *exception.Document, s *Seal, e, gone, pending *Entry) {
	add := func(kind Kind, message, hint string) {
		object := doc.Identity().String()
		l.Findings = append(l.Findings, Finding{Kind: kind, Object: object, Message: message, Hint: hint})
	}
	switch s.Now.Reason {
	case "":
		if e != nil && e.Cluster != Same {
			add(ClusterOutdated, "it is signed, and differs from the one in signed/",
				"deploy signed/; an older signed exception stays valid until it expires")
		}
	case verify.ReasonUnsigned:
		if pending != nil && gone == nil && (e == nil || e == pending) {
			add(ClusterUnsigned, "it has no signature; an exception of its name is not signed yet, in "+pending.File,
				"sign it with polex-sign promote, and deploy signed/")
			return
		}
		add(ClusterUnsigned, "it has no signature", "find out who created it, and have polex-guard reject it")
	case verify.ReasonAltered:
		add(ClusterAltered, s.Now.Detail, "deploy it again, and find out who changed it")
	case verify.ReasonExpired:
		add(ClusterExpired, s.Now.Detail, "delete it; polex-guard does that by itself")
	default:
		add(ClusterRefused, s.Now.Detail+" ["+s.Now.Reason+"]",
			"write it to a file with kubectl get -o yaml, and run polex-verify --explain on the file")
	}
	switch {
	case e != nil:
	case gone != nil:
		left := gone.Left
		add(ClusterNotInGit, fmt.Sprintf("it was removed from signed/ at %s (by Git) in commit %s (%s), by %s",
			clock(left.At), left.Commit, left.How, left.By), "let the deployer of signed/ prune removed files")
	default:
		add(ClusterNotInGit, "it is not in signed/, and never was", "find out who made it")
	}
}

// assessAll verifies objects on several workers.
func assessAll(docs []*exception.Document, v *verify.Verifier, at time.Time, workers int) []*Entry {
	entries := make([]*Entry, len(docs))
	var all errgroup.Group
	all.SetLimit(max(workers, 1))
	for i, doc := range docs {
		all.Go(func() error {
			entries[i] = assess(v, doc, at, nil)
			return nil
		})
	}
	_ = all.Wait() // no worker returns an error
	return entries
}
