package ledger

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/usage"
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

// Compare compares the exceptions of a cluster with those under signed/ and adds the differences to
// the findings. It verifies each object for the time of the report, while read still gives it others, and
// keeps no object. read returns the reason for each object that could not be read.
func (l *Ledger) Compare(read func(add func(*exception.Document) error) (unreadable []string, err error),
	v *verify.Verifier) error {
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	unreadable, err := read(func(doc *exception.Document) error {
		if len(l.live) >= MaxObjects {
			return tooMuch(MaxObjects, "exceptions of a cluster")
		}
		o := &live{}
		l.live = append(l.live, o)
		all.Go(func() error {
			o.describe(doc, assess(v, doc, l.At, nil))
			return nil
		})
		return nil
	})
	_ = all.Wait() // no worker returns an error
	if err != nil {
		return err
	}
	l.Compared, l.Objects = true, len(l.live)
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
	for _, why := range unreadable {
		l.Findings = append(l.Findings, Finding{Kind: ClusterUnreadable, Message: short(why)})
	}
	for _, o := range l.live {
		key, s := o.Identity.Key(), o.seal
		e := here[key]
		if o.in = e; e != nil {
			e.Cluster = Other
			if s.MessageDigest != "" && e.Seal.MessageDigest == s.MessageDigest && s.Now == e.Seal.Now {
				e.Cluster = Same
			}
		}
		l.drift(o.Identity.String(), s, e, gone[key], pending[key])
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
func (l *Ledger) drift(object string, s *Seal, e, gone, pending *Entry) {
	add := func(kind Kind, message, hint string) {
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

// live is an exception of a cluster.
type live struct {
	usage.Exception
	seal *Seal
	in   *Entry // of signed/ with its name, or nil
}

// describe keeps the facts about an object, and not the object.
func (o *live) describe(doc *exception.Document, of *Entry) {
	o.Exception = usage.Exception{Identity: doc.Identity(), Read: kyverno.Read(doc), From: of.Seal.SignedAt}
	o.Read.Spec, o.seal = nil, of.Seal
	created, err := time.Parse(time.RFC3339, doc.Text("metadata", "creationTimestamp"))
	if err == nil && created.After(o.From) {
		o.From = created
	}
	for _, x := range of.Exempted {
		o.Scopes = append(o.Scopes, x.Scope)
	}
}

// Reports prepares the collection of report results about the exceptions of the compared cluster.
func (l *Ledger) Reports() *usage.Reports {
	all := make([]usage.Exception, len(l.live))
	for i := range l.live {
		all[i] = l.live[i].Exception
	}
	return usage.NewReports(all)
}

// Use adds what the reports of the compared cluster say to the entries and the findings. The finding about
// an exception that is not in signed/ gets it too.
func (l *Ledger) Use(r *usage.Reports) {
	l.UsageKnown = true
	strays := map[string]*Finding{}
	for i := range l.Findings {
		if f := &l.Findings[i]; f.Kind == ClusterNotInGit {
			strays[f.Object] = f
		}
	}
	for i, u := range r.Usages() {
		o := l.live[i]
		object, file := o.Identity.String(), ""
		if o.in != nil {
			o.in.Usage, file = &u, o.in.File
		} else if f := strays[object]; f != nil {
			f.Message += "; usage: " + string(u.State) + ", " + u.Text()
		}
		if u.State.Unused() {
			l.Findings = append(l.Findings, Finding{Kind: Kind(u.State), Object: object, File: file,
				Message: u.Text(), Hint: "if it stays so for weeks, remove it: polex-prune --unused"})
		}
	}
	l.sortFindings()
}
